"""What each probe of the wire must find: defects that are put back into the sources."""

from torture.attack import Defect

DEFECTS = (
    Defect(
        name="an answer that the schema does not name",
        file="nearsong/web/http/problems.py",
        old='(NoSuchSongError, 404, "no-such-song"),',
        new='(NoSuchSongError, 410, "no-such-song"),',
        trials="schema",
    ),
    Defect(
        name="a range ends a byte early",
        file="nearsong/web/media/files.py",
        old="ranges.append((first, min(last, size - 1)))",
        new="ranges.append((first, max(first, min(last, size - 1) - 1)))",
        trials="ranges",
    ),
    Defect(
        name="ranges of another version",
        file="nearsong/web/media/files.py",
        old='if header is None or version not in (None, self.headers["etag"], self.headers["last-modified"]):',
        new="if header is None:",
        trials="ranges",
    ),
    Defect(
        name="two lengths of a body",
        file="nearsong/web/http/security.py",
        old='    if "content-length" in headers:\n',
        new='    if "content-length" in ():\n',
        trials="smuggling",
    ),
    Defect(
        name="heads that can be read in several ways",
        file="nearsong/web/http/connections.py",
        old="if self.their_state is h11.IDLE and is_ambiguous(self.trailing_data[0]):",
        new="if self.their_state is None:",
        trials="smuggling",
    ),
    Defect(
        name="the right token counts as wrong in a flood",
        file="nearsong/web/http/authentication.py",
        old="        caller = self._callers().with_token(text)\n",
        new='        spend(self.failures, request, "tokens")\n        caller = self._callers().with_token(text)\n',
        trials="tokens",
    ),
    Defect(
        name="log-out leaves the session",
        file="nearsong/web/http/authentication.py",
        old='        """End the session of a request and delete its cookie."""\n'
        "        self._sessions.remove(_key(_session_of(request)))\n",
        new='        """Delete the cookie of a session."""\n',
        trials="tokens",
    ),
    Defect(
        name="any listener may be anybody",
        file="nearsong/web/http/callers.py",
        old='            raise ApiError(403, "only an admin may see or change what others play.", "not-allowed")\n',
        new="            return name\n",
        trials="listeners",
    ),
    Defect(
        name="playlists of others are shown",
        file="nearsong/web/http/callers.py",
        old='return self.listener is None or owner in ("", self.listener)',
        new="return True",
        trials="listeners",
    ),
    Defect(
        name="numbers of any length",
        file="nearsong/web/subsonic/parameters.py",
        old="if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):",
        new="if not digits:",
        trials="players",
    ),
    Defect(
        name="a queue of jobs without an end",
        file="nearsong/web/jobs/queue.py",
        old="MAX_PENDING_JOBS = 10\n",
        new="MAX_PENDING_JOBS = 10_000\n",
        trials="jobs",
    ),
    Defect(
        name="uploads stay on the disk",
        file="nearsong/web/media/uploads.py",
        old="        shutil.rmtree(file.path.parent, ignore_errors=True)\n",
        new="        pass\n",
        trials="uploads",
    ),
    Defect(
        name="covers are read in the service",
        file="nearsong/web/media/covers.py",
        old="self._workers.run(song.path, identity, folders, size) or _NO_COVER",
        new="thumbnail_of(song.path, identity, folders, size) or _NO_COVER",
        trials="covers",
    ),
    Defect(
        name="a refused write does not say when to come back",
        file="nearsong/web/http/problems.py",
        old='RETRY_SOON = {"Retry-After": "2"}',
        new="RETRY_SOON: dict[str, str] = {}",
        trials="lock",
    ),
    Defect(
        name="writes wait for a minute",
        file="nearsong/web/service/service.py",
        old="        library.set_lock_timeout(LOCK_TIMEOUT_SECONDS)\n",
        new="",
        trials="lock",
    ),
    Defect(
        name="no room for new connections",
        file="nearsong/web/http/connections.py",
        old="self._close_some(max(1, int(self._max_connections * CLOSED_SHARE)))",
        new="self.transport.abort()",
        trials="slow",
    ),
)

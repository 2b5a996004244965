"""Choosing folders on the page: what a hostile admin, or who can write into an allowed folder, cannot see."""

import os
from contextlib import suppress
from unittest import mock

import pytest

from nearsong.errors import InvalidInputError
from nearsong.web.http.problems import ApiError
from nearsong.web.jobs.scan import Scan
from nearsong.web.service import allowed_folders
from nearsong.web.service.allowed_folders import check_folder, list_folder
from nearsong.web.settings import ServeSettings

TOKEN = "correct-horse-battery-staple-4242"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def disk(tmp_path):
    """A disk with an allowed folder, and secrets beside it; `links` lead from the one to the other."""
    allowed, secret = tmp_path / "music", tmp_path / "music-private"
    for name in ("Jazz/Live", "blues", "演歌\u3000集", ".hidden/in"):
        (allowed / name).mkdir(parents=True)
    (secret / "letters").mkdir(parents=True)
    (allowed / "Jazz" / "one.mp3").touch()
    (allowed / "Jazz" / "two.FLAC").touch()
    (allowed / "Jazz" / "diary.txt").touch()
    (allowed / "out").symlink_to(secret)
    (allowed / "back").symlink_to(allowed / "Jazz")
    (allowed / "file.mp3").touch()
    return allowed


def test_folders_are_listed_in_order_without_files_links_and_what_is_hidden(disk):
    listing = list_folder([str(disk)], str(disk))
    assert (listing.folders, listing.parent, listing.n_audio_files) == (("blues", "Jazz", "演歌\u3000集"), None, 1)
    inside = list_folder([str(disk)], str(disk / "Jazz"))
    assert (inside.folders, inside.parent, inside.n_audio_files) == (("Live",), str(disk), 2)
    assert not inside.is_cut


@pytest.mark.parametrize(
    "path",
    [
        "/", "", ".", "..", "music", "{0}/..", "{0}/../music-private", "{0}/Jazz/../../music-private", "{0}-private",
        "{0}-private/letters", "{0}/out", "{0}/out/letters", "{0}/back", "{0}/back/Live", "{0}/.hidden",
        "{0}/.hidden/in", "{0}/file.mp3", "{0}/none", "{0}/", "{0}//Jazz", "{0}/./Jazz", "{0}/Jazz/", "{0}\0",
        "{0}/Jazz\0/Live", "~", "file://{0}", "/proc/self/root{0}", "/proc/self/cwd", "\\\\server\\share",
        "{0}/\udcff", "{0}/" + "x" * 3000,
    ],
)  # fmt: skip
def test_no_other_path_leads_anywhere_and_the_answers_are_alike(disk, path):
    asked = path.format(disk)
    for look in (list_folder, check_folder):
        with pytest.raises(ApiError, match="is not a folder that can be added from here") as caught:
            look([str(disk)], asked)
        assert (caught.value.status, caught.value.kind) == (404, "no-such-folder")
    with pytest.raises(ApiError):
        list_folder([], asked)


@pytest.mark.parametrize("replaced", ["Jazz", "Jazz/Live"])
def test_a_folder_that_becomes_a_link_while_it_is_opened_is_not_followed(disk, monkeypatch, replaced):
    secret, opened = disk.parent / "music-private", os.open

    def race(path, flags, *arguments, **options):
        """Exchange the folder at the last moment, after all that could be checked before."""
        if path == os.path.basename(replaced):
            (disk / replaced).rename(disk.parent / "taken")
            (disk / replaced).symlink_to(secret)
        return opened(path, flags, *arguments, **options)

    monkeypatch.setattr(allowed_folders.os, "open", race)
    monkeypatch.setattr(allowed_folders.os, "supports_dir_fd", {race, *os.supports_dir_fd})
    with pytest.raises(ApiError, match="is not a folder that can be added"):
        list_folder([str(disk)], str(disk / replaced))
    assert (disk / replaced).is_symlink()


def test_a_folder_with_very_many_entries_is_cut(disk, monkeypatch):
    monkeypatch.setattr(allowed_folders, "MAX_FOLDERS", 1)
    assert list_folder([str(disk)], str(disk)).is_cut
    monkeypatch.setattr(allowed_folders, "MAX_ENTRIES", 2)
    listing = list_folder([str(disk)], str(disk))
    assert listing.is_cut
    assert len(listing.folders) <= 1


def test_nothing_stays_open(disk):
    before = len(os.listdir("/proc/self/fd"))
    for path in (disk, disk / "Jazz", disk / "out", disk / "none"):
        with suppress(ApiError):
            list_folder([str(disk)], str(path))
    assert len(os.listdir("/proc/self/fd")) == before


# ---- through the service


def test_only_an_admin_may_look_and_only_where_it_is_allowed(make_client, trained, disk):
    client = make_client(host="0.0.0.0", token=TOKEN, allowed_folders=(disk,))
    asked = {"path": str(disk)}
    found = client.get("/api/v1/folders/browse", params=asked, headers=BEARER).json()
    assert [folder["name"] for folder in found["folders"]] == ["blues", "Jazz", "演歌\u3000集"]
    assert client.get("/api/v1/folders/browse", params={"path": "/etc"}, headers=BEARER).status_code == 404
    assert client.get("/api/v1/folders/browse", params=asked).status_code == 401
    ben = {"Authorization": f"Bearer {trained.accounts.add('ben')}"}
    client.service.accounts.refresh()
    for path in ("/folders", "/folders/browse", "/files"):
        assert client.get(f"/api/v1{path}", params=asked, headers=ben).status_code == 403
    assert client.delete("/api/v1/folders", params=asked, headers=ben).status_code == 403
    assert client.get("/api/v1/folders", headers=BEARER).json()["roots"] == [str(disk)]


def test_a_service_for_others_without_an_allowed_folder_shows_none(make_client, disk):
    client = make_client(host="0.0.0.0", token=TOKEN)
    found = client.get("/api/v1/folders", headers=BEARER).json()
    assert (found["roots"], found["may_type"]) == ([], False)
    answer = client.get("/api/v1/folders/browse", params={"path": str(disk)}, headers=BEARER)
    assert answer.status_code == 404
    assert not client.get("/api/v1/status", headers=BEARER).json()["can_add_folders"]


def test_a_scan_takes_only_folders_that_could_be_chosen(disk):
    settings = ServeSettings(host="0.0.0.0", token=TOKEN, allowed_folders=(disk,))
    assert Scan(folders=[str(disk / "Jazz")]).checked(settings).folders == [str(disk / "Jazz")]
    for folder in (disk / "out", disk / ".hidden", disk.parent / "music-private", disk / "Jazz" / ".." / "blues"):
        with pytest.raises(ApiError, match="is not a folder that can be added"):
            Scan(folders=[str(folder)]).checked(settings)
    on_this_machine = ServeSettings(allowed_folders=(disk,))  # a narrower choice holds here too
    with pytest.raises(ApiError, match="is not a folder that can be added"):
        Scan(folders=[str(disk.parent)]).checked(on_this_machine)
    assert Scan(folders=[str(disk.parent)]).checked(ServeSettings()).folders == [str(disk.parent)]


def test_a_folder_that_became_a_link_before_its_scan_is_not_scanned(disk, trained):
    job = Scan(folders=[str(disk / "Jazz")]).checked(ServeSettings(allowed_folders=(disk,)))
    (disk / "Jazz").rename(disk / "Jazz before")
    (disk / "Jazz").symlink_to(disk.parent / "music-private")
    with pytest.raises(InvalidInputError, match="has become a link"):
        job.run(trained, mock.Mock())
    assert str(disk.parent / "music-private") not in trained.folders


def test_an_allowed_folder_has_to_be_there_and_may_be_a_link_itself(disk):
    with pytest.raises(InvalidInputError, match=r"Folder not found: /not/here\. Give --allow-folder one that exists"):
        ServeSettings(allowed_folders=(disk.__class__("/not/here"),))
    (disk.parent / "link").symlink_to(disk)
    assert ServeSettings(allowed_folders=(disk.parent / "link",)).folder_roots == (str(disk),)
    assert os.path.realpath(os.path.expanduser("~")) in (*ServeSettings().folder_roots, "/")

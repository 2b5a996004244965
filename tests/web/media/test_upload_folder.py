"""The folder of files that were sent: private, made anew when it was removed, and gone with the service."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from nearsong.temporary import UPLOADS_PREFIX as PREFIX
from nearsong.temporary import remove_leftovers
from nearsong.web.media.uploads import Uploads
from nearsong.web.settings import ServeSettings


def test_closing_removes_the_folder(tmp_path):
    uploads = Uploads(ServeSettings())
    folder = uploads.folder
    assert folder.stat().st_mode & 0o777 == 0o700
    uploads.close()
    assert not folder.exists()


def test_a_folder_that_was_removed_is_made_anew(client):
    uploads = client.service.uploads
    assert client.post("/api/v1/query", files={"file": ("x.mp3", b"x")}).status_code == 422
    old = uploads.folder
    shutil.rmtree(old)
    assert client.post("/api/v1/query", files={"file": ("x.mp3", b"x")}).status_code == 422
    assert client.post("/api/v1/listens", files={"file": ("x.csv", b"x")}).status_code == 202
    new = uploads.folder
    assert new != old
    assert new.stat().st_mode & 0o777 == 0o700
    (new / "in-use").unlink()
    (new / "somebody's file").touch()
    assert uploads.folder == new  # what is under way stays
    remove_leftovers()
    assert {"in-use", "somebody's file"} <= set(os.listdir(new))
    uploads.close()
    assert not new.exists()


def test_another_folder_of_the_same_name_is_neither_used_nor_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    uploads = Uploads(ServeSettings())
    old = uploads.folder
    shutil.rmtree(old)
    old.mkdir()
    (old / "in-use").touch()
    assert uploads.folder != old
    uploads.close()
    assert os.listdir(tmp_path) == [old.name]


@pytest.mark.parametrize("path", ["/api/v1/query", "/api/v1/listens"])
def test_without_space_for_temporary_files_the_answer_is_507(client, monkeypatch, path):
    client.service.uploads.close()
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    response = client.post(path, files={"file": ("x.mp3", b"x")})
    assert response.status_code == 507
    assert response.json()["detail"].startswith("no space for the file (No such file or directory); free")


def test_an_encoder_that_cannot_be_written_is_507_too(client, monkeypatch):
    def write(*_given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nearsong.atomic_write.os.fsync", write)
    response = client.post("/api/v1/query", files={"file": ("x.mp3", b"x")})
    assert response.status_code == 507
    assert "(No space left on device)" in response.json()["detail"]
    assert os.listdir(client.service.uploads.folder) == ["in-use"]


def test_folders_of_killed_services_go_and_those_of_running_ones_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = (
        "from nearsong.web.media.uploads import Uploads\nfrom nearsong.web.settings import ServeSettings\n"
        "import time\n"
        "uploads = Uploads(ServeSettings())\n(uploads.folder / 'song.mp3').write_text('x')\n"
        "print(uploads.folder, flush=True)\ntime.sleep(600)\n"
    )
    others = [f"{PREFIX}young", f"{PREFIX}file", f"{PREFIX}link"]
    (tmp_path / others[0]).mkdir()
    (tmp_path / others[1]).write_text("no folder of ours")
    (tmp_path / "music").mkdir()
    (tmp_path / others[2]).symlink_to(tmp_path / "music")
    old = tmp_path / f"{PREFIX}old"
    old.mkdir()
    os.utime(old, (1, 1))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        try:
            folder = Path(process.stdout.readline().strip())
            remove_leftovers()
            of_running = (folder.parent, sorted(os.listdir(folder)), old.exists())
        finally:
            process.kill()
    assert of_running == (tmp_path, ["in-use", "song.mp3"], False)
    remove_leftovers()
    assert sorted(os.listdir(tmp_path)) == sorted(["music", *others])

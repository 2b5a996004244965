"""PLS playlists as radios and players write them."""

from nearsong.listens import open_listens


def test_songs_come_in_the_order_of_their_numbers_and_are_named_by_title_or_path(write, listens):
    path = write(
        "radio.pls",
        "[Playlist]\r\nnumberofentries=4\r\nFile2=Music\\Nina Simone\\Pastel Blues\\08 Sinnerman.mp3\r\n"
        "File1=http://stream.example:8000/x\r\nTitle1=Moby - Porcelain\r\nLength1=-1\r\n"
        "Title3=without a file\r\nFile10=a.mp3\r\nTitle10=Can - Vitamin C\r\nVersion=2\r\n",
    )
    assert (open_listens(path).format, open_listens(path).kind) == ("pls", "playlists")
    assert [row[:3] for row in listens(path)] == [
        ("radio", "Moby", "Porcelain"),
        ("radio", "Nina Simone", "Sinnerman"),
        ("radio", "Can", "Vitamin C"),
    ]

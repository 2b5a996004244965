"""What the service does by itself, as JSON."""

from typing import Literal

from pydantic import BaseModel, Field

from nearsong.web.json.schemas import Strict

_TIME = Field(default=None, pattern=r"^([01]\d|2[0-3]):[0-5]\d$", description="Local time, such as 02:00.")


class AutomationIn(Strict):
    """What to change; fields that are left out stay as they are."""

    is_on: bool | None = Field(default=None, description="Whether anything runs by itself.")
    watch: bool | None = Field(default=None, description="Whether new files in the folders are scanned soon.")
    scan_hours: float | None = Field(default=None, ge=0, le=8784, description="Hours between scans; 0 for never.")
    pull_hours: float | None = Field(default=None, ge=0, le=8784, description="Hours between pulls; 0 for never.")
    train_hours: float | None = Field(
        default=None, ge=0, le=8784, description="Least hours between trainings; 0 for no training."
    )
    new_listens: int | None = Field(default=None, ge=1, le=10**9, description="New listens that call for a training.")
    new_songs: int | None = Field(default=None, ge=1, le=10**9, description="New songs that call for a training.")
    quiet_from: str | None = _TIME
    quiet_to: str | None = _TIME


class PullSourceOut(BaseModel):
    """A service that the library pulls from."""

    service: str
    name: str
    url: str
    user: str


class PlannedTaskOut(BaseModel):
    """What will run by itself, and when, in seconds since 1970."""

    task: Literal["scan", "pull", "train"]
    at: float


class AutomaticRunOut(BaseModel):
    """What ran by itself, when it ended, and what came of it."""

    time: float
    task: Literal["scan", "pull", "train"]
    state: Literal["done", "failed", "stopped"]
    words: str


class AutomationOut(BaseModel):
    """What the service may do, has done and will do by itself."""

    is_on: bool
    is_running: bool = Field(description="False if the service was started with --no-automatic.")
    words: str = Field(description="What happened last and what is next.")
    watch: bool
    scan_hours: float
    pull_hours: float
    train_hours: float
    new_listens: int
    new_songs: int
    quiet_from: str
    quiet_to: str
    pulls: list[PullSourceOut]
    running: Literal["scan", "pull", "train"] | None
    trained: float | None = Field(description="When the last training ended, in seconds since 1970.")
    listens_since: int = Field(description="New listens since then.")
    songs_since: int = Field(description="New songs since then.")
    next: list[PlannedTaskOut]
    runs: list[AutomaticRunOut] = Field(description="The last automatic runs, newest first.")

"""A portfolio as a directory: JSON, arrays and policies, never code.

    portfolio.json                 version, space, family, members with their SHA-256
    returns.npz                    for each member its (N, E) returns
    policies/0003.safetensors      policy 3; none for a policy that was trained elsewhere

A directory is written next to its place and then renamed: a reader finds a complete portfolio.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sdmbtl.checks import short_text
from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.errors import LimitError, PolicyError, PortfolioError, SdmbtlError
from sdmbtl.files import sync_directory, write_atomically
from sdmbtl.foreign import read_json
from sdmbtl.policies import load_policy, save_policy
from sdmbtl.portfolio.member import Member
from sdmbtl.transfer.storage import load_arrays, save_arrays

FORMAT = "sdmbtl portfolio"
VERSION = 1
MANIFEST, RETURNS, POLICIES = "portfolio.json", "returns.npz", "policies"
#: Fields of a member next to its context, if it is not a point from scratch.
SOURCE = ("width", "parent", "steps")
SETTINGS = ("family", "observe_context", "return_range")


def write(
    directory: Path, space: ContextSpace, members: Sequence[Member], settings: Mapping[str, Any]
) -> None:
    """Write a portfolio, in the place of an older one if there is one.

    Args:
        directory: The directory; its parents are made.
        space: The context space.
        members: The members.
        settings: The other arguments of `Portfolio`, as JSON data.

    Raises:
        PortfolioError: If the directory holds anything but a portfolio.
    """
    directory = directory.resolve()  # a link stays one, and its target is replaced
    _check_replaceable(directory)
    staging, previous = (
        directory.with_name(f".{directory.name}.{os.getpid()}.{end}") for end in ("tmp", "old")
    )
    shutil.rmtree(staging, ignore_errors=True)  # left by a process that was killed
    try:
        _write_files(staging, space, members, settings)
        if directory.exists():
            directory.rename(previous)
        try:
            staging.rename(directory)
        except BaseException:
            if previous.exists():
                previous.rename(directory)
            raise
        sync_directory(directory.parent)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        shutil.rmtree(previous, ignore_errors=True)


def read(directory: Path) -> tuple[ContextSpace, list[Member], dict[str, Any]]:
    """Read the space, the members and the settings of a portfolio.

    Raises:
        PortfolioError: If something is damaged, or was written by another release.
        FileNotFoundError: If there is no portfolio.
    """
    directory = directory.resolve()
    path = _inside(directory, MANIFEST)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no portfolio in {str(directory)!r}: it has no {MANIFEST}. "
            "Write one with portfolio.export(directory)."
        )
    try:
        manifest = read_json(path)
        if manifest["format"] != FORMAT:
            raise ValueError(f"its format is {manifest['format']!r}")
        if manifest["version"] != VERSION:
            raise PortfolioError(
                f"{path} has format version {manifest['version']}; this release reads {VERSION}. "
                "Use the release that wrote it, or export it again with this one."
            )
        space = ContextSpace.from_dict(manifest["space"])
        listed = [
            (int(m["id"]), m["context"], _checked_file(m), m["sha256"], _source(m, space))
            for m in manifest["members"]
        ]
        settings = {name: manifest[name] for name in SETTINGS}
        returns_sha256 = manifest["returns_sha256"]
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, PortfolioError | LimitError):
            raise
        raise PortfolioError(
            f"{path} is not a portfolio of sdmbtl, or it is damaged ({error!r}). "
            "Copy or export the portfolio again."
        ) from None
    returns = _read_returns(directory, returns_sha256, [number for number, *_ in listed])
    members = []
    for number, context, file, sha256, source in listed:
        try:
            policy = None if file is None else load_policy(_verified(directory, file, sha256))
        except (PolicyError, PortfolioError, OSError) as error:
            raise PortfolioError(
                f"Policy {number} is damaged: {error} Copy or export the portfolio again."
            ) from None
        members.append(Member(number, context, policy, returns[_key(number)], source))
    return space, members, settings


def _checked_file(member: Mapping[str, Any]) -> str | None:
    """Return the place of a member's policy, if it has one; the manifest may name no other."""
    expected = _policy_file(int(member["id"]))
    if member["file"] not in (None, expected):
        raise PortfolioError(
            f"The file of policy {member['id']} must be {expected!r}. "
            f"Got {short_text(member['file'])} instead."
        )
    return expected if member["file"] is not None else None


def _source(member: Mapping[str, Any], space: ContextSpace) -> Source:
    given = {name: member[name] for name in SOURCE if name in member}
    return Source.at(space.vector(member["context"]), **given)


def _check_replaceable(directory: Path) -> None:
    """Refuse to replace anything but the files of a portfolio, or an empty directory."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise PortfolioError(f"{directory} is a file. Export to a directory of its own.")
    inside = {path.relative_to(directory).as_posix() for path in directory.rglob("*")}
    if not inside:
        return
    try:
        manifest = read_json(directory / MANIFEST)
        own = {_checked_file(member) for member in manifest["members"]}
        own |= {MANIFEST, RETURNS, POLICIES} if manifest["format"] == FORMAT else set()
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        own = set()
    strange = sorted(inside - own)
    if strange:
        raise PortfolioError(
            f"{directory} holds {strange[0]!r}: it is not just a portfolio, and is not replaced. "
            "Export to another directory, or remove this one first."
        )


def _write_files(
    staging: Path, space: ContextSpace, members: Sequence[Member], settings: Mapping[str, Any]
) -> None:
    (staging / POLICIES).mkdir(parents=True)
    listed = []
    for member in members:
        source = {k: v for k, v in member.source.to_dict().items() if k in SOURCE}
        notes: dict[str, Any] = {"id": member.id, "context": dict(member.context), **source}
        file = sha256 = None
        if member.policy is not None:
            file = _policy_file(member.id)
            save_policy(staging / file, member.policy.acting(), notes)
            sha256 = _sha256(staging / file)
        listed.append({**notes, "file": file, "sha256": sha256})
    returns = {_key(member.id): member.returns for member in members}
    save_arrays(staging / RETURNS, kind="portfolio returns", space=space, arrays=returns)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "space": space.to_dict(),
        **settings,
        "returns_sha256": _sha256(staging / RETURNS),
        "members": listed,
    }
    text = json.dumps(manifest, indent=2, allow_nan=False) + "\n"
    write_atomically(staging / MANIFEST, text.encode())
    sync_directory(staging / POLICIES)
    sync_directory(staging)


def _read_returns(directory: Path, sha256: str, ids: list[int]) -> dict[str, Any]:
    try:
        _, returns = load_arrays(
            _verified(directory, RETURNS, sha256),
            kind="portfolio returns",
            arrays={_key(number): ("targets", f"episodes of policy {number}") for number in ids},
        )
    except LimitError:
        raise
    except (SdmbtlError, FileNotFoundError) as error:
        raise PortfolioError(
            f"The returns of the policies cannot be read: {error} Without them no policy can be "
            "chosen. Copy or export the portfolio again."
        ) from None
    return returns


def _inside(directory: Path, name: str) -> Path:
    """Return a file of a portfolio; refuse a link that leads out of the directory."""
    path = directory / name
    if not path.resolve().is_relative_to(directory):
        raise PortfolioError(
            f"{path} is a link that leads out of the portfolio, and is not followed. "
            "Copy the file there instead."
        )
    return path


def _verified(directory: Path, name: str, sha256: str) -> Path:
    """Return a file of a portfolio; refuse another one than was exported."""
    path = _inside(directory, name)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if _sha256(path) != sha256:
        raise PortfolioError(f"{path} is not the file that was exported (its SHA-256 differs).")
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _policy_file(number: int) -> str:
    return f"{POLICIES}/{_key(number)}.safetensors"


def _key(number: int) -> str:
    """Return the name of a member in files."""
    return f"{number:04d}"

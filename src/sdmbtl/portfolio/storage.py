"""A portfolio as a directory: JSON, arrays and policies, never code.

    portfolio.json                 version, space, family, members with their SHA-256
    returns.npz                    for each member its (N, E) returns
    policies/0003.safetensors      policy 3; none for a policy that was trained elsewhere

A directory is written beside its place and then renamed: a reader finds a complete portfolio
or none. To replace an older one, that is renamed first, to a name where `read` looks for it: if
the machine stops between the two renames, the older one is still found.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
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
from sdmbtl.wording import printable

FORMAT = "sdmbtl portfolio"
VERSION = 1
MANIFEST = "portfolio.json"
RETURNS = "returns.npz"
POLICIES = "policies"
#: What a member has besides its context if it is not a point from scratch.
SOURCE = ("width", "parent", "steps")


def write(
    directory: Path, space: ContextSpace, members: Sequence[Member], settings: Mapping[str, Any]
) -> None:
    """Write a portfolio, in the place of an older one if there is one.

    Args:
        directory: Where to; its parents are made.
        space: The context space.
        members: The members.
        settings: The other arguments of `Portfolio`, as JSON data.

    Raises:
        PortfolioError: If the directory holds anything but a portfolio.
    """
    directory = directory.resolve()  # a link stays one, and its target is replaced
    _check_replaceable(directory)
    staging = directory.with_name(f".{directory.name}.{os.getpid()}.tmp")
    # Left by a process that was killed: in a container the next one has the same number.
    shutil.rmtree(staging, ignore_errors=True)
    try:
        _write_files(staging, space, members, settings)
        _put_in_place(staging, directory)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def read(
    directory: Path, *, skip_damaged: bool = False
) -> tuple[ContextSpace, list[Member], dict[str, Any]]:
    """Read the space, the members and the settings of a portfolio.

    Raises:
        PortfolioError: If something is damaged, or was written by another release.
        FileNotFoundError: If there is not a portfolio.
    """
    directory = directory.resolve()
    if not directory.exists() and _previous(directory).exists():
        directory = _previous(directory)
    manifest = _read_manifest(directory)
    try:
        space = ContextSpace.from_dict(manifest["space"])
        listed = [
            (int(m["id"]), m["context"], _checked_file(m), m["sha256"], _source(m, space))
            for m in manifest["members"]
        ]
        settings = {k: manifest[k] for k in ("family", "observe_context", "return_range")}
        returns_sha256 = manifest["returns_sha256"]
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise _damaged(directory / MANIFEST, repr(error)) from None
    returns = _read_returns(_inside(directory, RETURNS), returns_sha256, [m[0] for m in listed])
    members, problems = [], []
    for number, context, file, sha256, source in listed:
        try:
            policy = None
            if file is not None:
                policy = load_policy(_verified(_inside(directory, file), sha256))
            members.append(Member(number, context, policy, returns[_key(number)], source))
        except (PolicyError, PortfolioError, OSError) as error:
            problems.append(f"policy {number}: {error}")
    _report(problems, len(members), skip_damaged=skip_damaged)
    return space, members, settings


def _checked_file(member: Mapping[str, Any]) -> str | None:
    """Where a member's policy is, if it has one: in its own place, wherever else a file says.

    Raises:
        PortfolioError: If the file says another place.
    """
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
    if not any(directory.iterdir()):
        return
    try:
        manifest = read_json(directory / MANIFEST)
        is_portfolio = manifest["format"] == FORMAT
        listed = {_checked_file(member) for member in manifest["members"]}
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        is_portfolio, listed = False, set()
    inside = {path.relative_to(directory).as_posix() for path in directory.rglob("*")}
    strange = sorted(inside - {MANIFEST, RETURNS, POLICIES} - listed)
    if strange or not is_portfolio:
        what = f"holds {strange[0]!r}" if strange else "is not empty"
        raise PortfolioError(
            f"{directory} {what} and is not replaced: it is not just a portfolio. Export to "
            "another directory, or remove this one first."
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


def _put_in_place(staging: Path, directory: Path) -> None:
    previous = _previous(directory)
    if directory.exists():
        shutil.rmtree(previous, ignore_errors=True)  # left by an export that was stopped late
        directory.rename(previous)
    try:
        staging.rename(directory)
    except BaseException:
        if previous.exists():
            previous.rename(directory)
        raise
    sync_directory(directory.parent)
    shutil.rmtree(previous, ignore_errors=True)


def _previous(directory: Path) -> Path:
    """Where an older portfolio is while a new one takes its place."""
    return directory.with_name(f".{directory.name}.previous")


def _read_manifest(directory: Path) -> dict[str, Any]:
    path = _inside(directory, MANIFEST)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is not a portfolio in {str(directory)!r}: it has no {MANIFEST}. "
            "Write one with portfolio.export(directory)."
        )
    try:
        manifest = read_json(path)
        form, version = manifest["format"], manifest["version"]
    except (ValueError, TypeError, LookupError) as error:
        raise _damaged(path, repr(error)) from None
    if form != FORMAT:
        raise _damaged(path, f"its format is {form!r}")
    if version != VERSION:
        raise PortfolioError(
            f"{path} has format version {version}; this release reads {VERSION}. "
            "Use the release that wrote it, or export it again with this one."
        )
    return dict(manifest)


def _read_returns(path: Path, sha256: str, ids: list[int]) -> dict[str, Any]:
    try:
        _, returns = load_arrays(
            _verified(path, sha256),
            kind="portfolio returns",
            arrays={_key(number): ("targets", f"episodes of policy {number}") for number in ids},
        )
    except LimitError:
        raise
    except (SdmbtlError, FileNotFoundError) as error:
        raise PortfolioError(
            f"The returns of the policies cannot be read: {error} Without them no policy can be "
            "chosen. Copy or export the portfolio again; the policies can still be read one by one "
            "with sdmbtl.policies.load_policy."
        ) from None
    return returns


def _report(problems: list[str], usable: int, *, skip_damaged: bool) -> None:
    """Raise or warn if policies are damaged."""
    if not problems:
        return
    found = "; ".join(problems)
    if not usable:
        raise PortfolioError(
            f"No policy of this portfolio is usable: {found} Copy or export it again."
        )
    if not skip_damaged:
        others = f"The {usable} others are" if usable > 1 else "The other one is"
        raise PortfolioError(
            f"Damaged policies: {found} {others} usable: load with skip_damaged=True, or copy or "
            "export the portfolio again."
        )
    # The level of the caller of Portfolio.load.
    warnings.warn(printable(f"Policies left out of the portfolio: {found}"), stacklevel=4)


def _inside(directory: Path, name: str) -> Path:
    """A file of a portfolio; refuses one that a link leads out of the directory.

    Raises:
        PortfolioError: If it does.
    """
    path = directory / name
    if not path.resolve().is_relative_to(directory):
        raise PortfolioError(
            f"{path} is a link that leads out of the portfolio, which is not followed. "
            "Copy the file there instead."
        )
    return path


def _verified(path: Path, sha256: str) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if _sha256(path) != sha256:
        raise PortfolioError(f"{path} is not the file that was exported (its SHA-256 differs).")
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _policy_file(number: int) -> str:
    """Where the policy of a member is."""
    return f"{POLICIES}/{_key(number)}.safetensors"


def _key(number: int) -> str:
    """The name of a member in files."""
    return f"{number:04d}"


def _damaged(path: Path, why: str) -> PortfolioError:
    return PortfolioError(
        f"{path} is not a portfolio of sdmbtl, or it is damaged ({why}). "
        "Copy or export the portfolio again."
    )

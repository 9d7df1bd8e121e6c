"""A portfolio as a directory: JSON, arrays and policies, never code.

    portfolio.json                    version, family, members, with the SHA-256 of their files
    returns-6f1d….npz                 the space, and for each member its (N, E) returns
    policies/0003-b20c….safetensors   policy 3; none for a policy that was trained elsewhere

Names of files hold the beginning of their SHA-256, so an export leaves the files of an older one
alone until portfolio.json names its own: whoever is killed leaves the old portfolio or the new one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sdmbtl.contexts import ContextSpace, Source
from sdmbtl.errors import PortfolioError, SdmbtlError
from sdmbtl.files import sync_directory, temporary_name, write_atomically
from sdmbtl.foreign import read_json
from sdmbtl.policies import load_policy
from sdmbtl.policies.base import policy_bytes
from sdmbtl.portfolio.member import Member
from sdmbtl.transfer.storage import load_arrays, save_arrays

FORMAT = "sdmbtl portfolio"
VERSION = 1
MANIFEST, POLICIES = "portfolio.json", "policies"
#: Fields of a member next to its context, if it is not a point from scratch.
SOURCE = ("width", "parent", "steps", "sees_context")
SETTINGS = ("family", "return_range")

#: Names in the directory of an export, also of one that was killed.
_OWN_NAMES = re.compile(r"portfolio\.json|policies|returns-[0-9a-f]{16}\.npz|\..*\.tmp")


def write(
    directory: Path, space: ContextSpace, members: Sequence[Member], settings: Mapping[str, Any]
) -> None:
    """Write a portfolio, in the place of an older one if there is one."""
    directory = directory.resolve()
    old_files = _files_to_replace(directory)
    _inside(directory, POLICIES).mkdir(parents=True, exist_ok=True)
    listed = []
    for member in members:
        source = _pick(member.source.to_dict(), SOURCE)
        notes: dict[str, Any] = {"id": member.id, "context": dict(member.context), **source}
        sha256 = None
        if member.policy is not None:
            content = policy_bytes(member.policy.acting(), notes)
            sha256 = hashlib.sha256(content).hexdigest()
            write_atomically(directory / _policy_file(member.id, sha256), content)
        listed.append({**notes, "sha256": sha256})
    draft = temporary_name(directory / "returns.npz")
    returns = {_key(member.id): member.returns for member in members}
    save_arrays(draft, kind="portfolio returns", space=space, arrays=returns)
    returns_sha256 = _sha256(draft)
    draft.replace(directory / _returns_file(returns_sha256))
    sync_directory(directory)
    about = {"format": FORMAT, "version": VERSION, **settings}
    manifest = {**about, "returns_sha256": returns_sha256, "members": listed}
    text = json.dumps(manifest, indent=2, allow_nan=False) + "\n"
    write_atomically(directory / MANIFEST, text.encode())
    for name in old_files - _files_of(manifest):
        _inside(directory, name).unlink(missing_ok=True)


def read(directory: Path) -> tuple[ContextSpace, list[Member], dict[str, Any]]:
    """Read the space, the members and the settings of a portfolio; see `Portfolio.load`."""
    directory = directory.resolve()
    manifest = _read_manifest(directory)
    sha256 = manifest["returns_sha256"]
    shapes = {_key(m["id"]): ("targets", f"episodes of {m['id']}") for m in manifest["members"]}
    members = []
    try:
        file = _verified(directory, _returns_file(sha256), sha256)
        space, returns = load_arrays(file, kind="portfolio returns", arrays=shapes)
        for each in manifest["members"]:
            number, sha256, policy = each["id"], each["sha256"], None
            if sha256 is not None:
                policy = load_policy(_verified(directory, _policy_file(number, sha256), sha256))
            source = Source.at(space.vector(each["context"]), **_pick(each, SOURCE))
            members.append(Member(number, each["context"], policy, returns[_key(number)], source))
    except (SdmbtlError, TypeError, OSError) as error:
        raise PortfolioError(
            f"The portfolio in {str(directory)!r} is damaged: {error} Copy or export it again."
        ) from None
    return space, members, _pick(manifest, SETTINGS)


def _read_manifest(directory: Path) -> dict[str, Any]:
    """Read the manifest; the files that it names are all in their places."""
    path = _inside(directory, MANIFEST)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no portfolio in {str(directory)!r}: it has no {MANIFEST}. "
            "Write one with portfolio.export(directory)."
        )
    try:
        manifest: dict[str, Any] = read_json(path)
        if (manifest["format"], manifest["version"]) != (FORMAT, VERSION):
            raise ValueError(f"expected format {FORMAT!r}, version {VERSION}")
        for member in manifest["members"]:
            member["id"], member["context"] = int(member["id"]), dict(member["context"])
        sums = [m["sha256"] for m in manifest["members"] if m["sha256"] is not None]
        if not all(re.fullmatch("[0-9a-f]{64}", s) for s in (manifest["returns_sha256"], *sums)):
            raise ValueError("a SHA-256 has 64 digits")
        return manifest
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise PortfolioError(
            f"{path} is not a portfolio of sdmbtl, or it is damaged ({error!r}). "
            "Copy the portfolio again, or export it to another directory."
        ) from None


def _files_to_replace(directory: Path) -> set[str]:
    """Return the files of an older portfolio; refuse a directory that holds anything else."""
    if not directory.exists():
        return set()
    if not directory.is_dir():
        raise PortfolioError(f"{directory} is a file. Export to a directory of its own.")
    names = sorted(path.name for path in directory.iterdir())
    strange = [name for name in names if not _OWN_NAMES.fullmatch(name)]
    if strange:
        raise PortfolioError(
            f"{directory} holds {strange[0]!r}: it is not just a portfolio, and is not replaced. "
            "Export to another directory, or remove this one first."
        )
    return _files_of(_read_manifest(directory)) if MANIFEST in names else set()


def _files_of(manifest: Mapping[str, Any]) -> set[str]:
    files = {_policy_file(m["id"], m["sha256"]) for m in manifest["members"] if m["sha256"]}
    return {_returns_file(manifest["returns_sha256"]), *files}


def _verified(directory: Path, name: str, sha256: str) -> Path:
    """Return a file of a portfolio; refuse another one than was exported."""
    path = _inside(directory, name)
    if _sha256(path) != sha256:
        raise PortfolioError(f"{path} is not the file that was exported (its SHA-256 differs).")
    return path


def _inside(directory: Path, name: str) -> Path:
    """Return a path in a portfolio; refuse a link that leads out of the directory."""
    path = directory / name
    if not path.resolve().is_relative_to(directory):
        raise PortfolioError(
            f"{path} is a link that leads out of the portfolio, and is not followed. "
            "Copy the file there instead."
        )
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _policy_file(number: int, sha256: str) -> str:
    return f"{POLICIES}/{_key(number)}-{sha256[:16]}.safetensors"


def _returns_file(sha256: str) -> str:
    return f"returns-{sha256[:16]}.npz"


def _key(number: int) -> str:
    return f"{number:04d}"


def _pick(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}

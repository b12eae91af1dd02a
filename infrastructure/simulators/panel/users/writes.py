"""The calls that change users, one function each: state and body in, result out."""

from dataclasses import replace
from http import HTTPStatus
from typing import Final

from infrastructure.simulators.panel.users.answers import Answer, success
from infrastructure.simulators.panel.users.bodies import (
    Changes,
    parse_create,
    parse_days,
    parse_update,
)
from infrastructure.simulators.panel.users.directory import Call, Directory, Result
from infrastructure.simulators.panel.users.reads import parse_id
from infrastructure.simulators.panel.users.timestamps import MS_PER_DAY
from infrastructure.simulators.panel.users.user import Credentials, Status, User

_CREATE_FAILED: Final = "A018"
_UPDATE_FAILED: Final = "A039"
_MISSING: Final = "A025"


def create(directory: Directory, call: Call) -> Result:
    """Return a new user under the next id.

    Raises:
        InvalidBodyError: 400.
        UnstorableError: 500 of the route.
    """
    changes = parse_create(call.body)
    if changes.get("username") in directory.by_username:
        return call.error("A019")
    if changes.get("short_uuid") in directory.by_short_uuid:
        return call.error("A020")
    squads = changes.get("squads", ())
    if len(set(squads)) < len(squads) or not directory.squads.keys() >= set(squads):
        return call.error(_CREATE_FAILED)
    columns: Changes = {
        "short_uuid": Credentials.short_uuid(),
        "trojan_password": Credentials.password(),
        "vless_uuid": Credentials.vless_uuid(),
        "ss_password": Credentials.password(),
        "created_at": call.now,
        **changes,
    }
    user = User(id=directory.last_id + 1, updated_at=columns["created_at"], **columns)
    answer = success(user.shown(directory.squads), HTTPStatus.CREATED)
    return Result(answer, None, user, applied=True)


def update(directory: Directory, call: Call) -> Result:
    """Return the user with the given columns; absent ones stay.

    Raises:
        InvalidBodyError: 400.
        UnstorableError: 500 of the route.
    """
    patch = parse_update(call.body, call.now)
    if patch.id is not None:  # the id wins; a bad one does not fall to the username
        user = directory.by_id.get(patch.id)
    else:
        user = directory.by_username.get(patch.username or "")
    if user is None:
        return call.error(_MISSING)
    changes = patch.changes()
    squads = _squads_after(user, changes.pop("squads", None))
    if not directory.squads.keys() >= set(squads):
        return call.error(_UPDATE_FAILED)
    status = _status_after(user, changes)
    if changes.get("status", status) != status:
        del changes["status"]  # ignored in silence
    after = user
    if changes:
        changes["status"] = status
        threshold = user.last_triggered_threshold
        if changes.get("traffic_limit_bytes", user.traffic_limit_bytes) != (
            user.traffic_limit_bytes
        ):
            threshold = 0
        after = replace(
            user, updated_at=call.now, last_triggered_threshold=threshold, **changes
        )
    after = replace(after, squads=squads)  # alone it does not move updatedAt
    applied = bool(changes) or squads != user.squads
    return _written(directory, user, after, applied=applied)


def _squads_after(user: User, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the new squads; as many known ones as before count as no change."""
    if wanted is None:
        return user.squads
    if len(wanted) == len(user.squads) and set(wanted) <= set(user.squads):
        return user.squads
    return tuple(dict.fromkeys(wanted))


def _status_after(user: User, changes: Changes) -> Status:
    """Return the status; a status in the body keeps expiry and limit from reviving."""
    wanted = changes.get("status")
    if wanted is not None:
        return wanted if wanted == "ACTIVE" or user.status == "ACTIVE" else user.status
    if user.status == "EXPIRED" and "expire_at" in changes:
        return "ACTIVE"
    if user.status == "LIMITED" and "traffic_limit_bytes" in changes:
        limit = changes["traffic_limit_bytes"]
        if limit > user.traffic_limit_bytes or limit == 0:  # usage is not looked at
            return "ACTIVE"
    return user.status


def enable(directory: Directory, call: Call) -> Result:
    """Return the user ACTIVE, also when the next pass will take it back."""
    user = directory.by_id.get(parse_id(call))
    if user is None:
        return call.error(_MISSING)
    if user.status == "ACTIVE":
        return call.error("A030")
    return _written(directory, user, replace(user, status="ACTIVE"))


def disable(directory: Directory, call: Call) -> Result:
    """Return the user DISABLED, from every other state."""
    user = directory.by_id.get(parse_id(call))
    if user is None:
        return call.error(_MISSING)
    if user.status == "DISABLED":
        return call.error("A029")
    return _written(directory, user, replace(user, status="DISABLED"))


def reset_traffic(directory: Directory, call: Call) -> Result:
    """Return the user with nothing used; a LIMITED one is ACTIVE again."""
    user = directory.by_id.get(parse_id(call))
    if user is None:
        return call.error(_MISSING)
    after = replace(
        user,
        used_traffic_bytes=0,
        last_traffic_reset_at=call.now,
        updated_at=call.now,
        status="ACTIVE" if user.status == "LIMITED" else user.status,
    )
    return _written(directory, user, after)


def extend(directory: Directory, call: Call) -> Result:
    """Return the user with days added; an EXPIRED one counts from now and revives.

    Raises:
        InvalidBodyError: 400.
    """
    wanted, number = parse_id(call), parse_days(call.body)
    user = directory.by_id.get(wanted)
    if user is None:
        return call.error(_MISSING)
    expired = user.status == "EXPIRED"
    after = replace(
        user,
        expire_at=(call.now if expired else user.expire_at) + number * MS_PER_DAY,
        status="ACTIVE" if expired else user.status,
        updated_at=call.now,
    )
    try:
        return _written(directory, user, after)
    except OverflowError:  # beyond the year 9999
        return call.error(_UPDATE_FAILED)


def revoke(directory: Directory, call: Call) -> Result:
    """Return the user with a new link and new passwords."""
    user = directory.by_id.get(parse_id(call))
    if user is None:
        return call.error(_MISSING)
    after = replace(
        user,
        short_uuid=Credentials.short_uuid(),
        trojan_password=Credentials.password(),
        vless_uuid=Credentials.vless_uuid(),
        ss_password=Credentials.password(),
        sub_revoked_at=call.now,
        updated_at=call.now,
    )
    return _written(directory, user, after)


def delete(directory: Directory, call: Call) -> Result:
    """Remove the user; its id is never given again."""
    user = directory.by_id.get(parse_id(call))
    if user is None:
        return call.error(_MISSING)
    return Result(Answer(HTTPStatus.NO_CONTENT), user, None, applied=True)


def _written(
    directory: Directory, before: User, after: User, *, applied: bool = True
) -> Result:
    return Result(success(after.shown(directory.squads)), before, after, applied)

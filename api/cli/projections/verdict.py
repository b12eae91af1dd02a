"""What has become of a rebuild or a verification, in a person's words."""

from api.cli.output import say
from projections.builds import Abandoned, Rebuilt, Sample, Verified


def tell_rebuilt(rebuilt: Rebuilt) -> None:
    """Write what is read from now on."""
    name = rebuilt.projection
    say(
        f"{name} is rebuilt up to position {rebuilt.position:,} by schema "
        f"{rebuilt.schema}, and read from now on",
        f"    {_begun(rebuilt)}",
        f"    {rebuilt.events:,} events folded in {rebuilt.seconds:.1f} s, "
        f"{rebuilt.per_second:,.0f} of the log per second",
    )
    if rebuilt.set_aside:
        say(
            f"    {rebuilt.set_aside:,} events could not be folded and are set aside: "
            f"`counterfoil projections list {name}` shows them"
        )
    if rebuilt.is_paused:
        say(
            "    it is still paused, so it stays there until "
            f"`counterfoil projections resume {name}`"
        )
    if not rebuilt.is_emptied:
        say(
            "    somebody may still be reading the old rows, in an old transaction: "
            "they are removed before the next build"
        )


def _begun(rebuilt: Rebuilt) -> str:
    if rebuilt.began == "resumed":
        where = f"went on behind position {rebuilt.from_position:,}"
    else:
        where = "began anew"
    return f"{where}: {rebuilt.began_because}"


def tell_abandoned(abandoned: Abandoned) -> None:
    """Write what was dropped."""
    if abandoned.work is None:
        say(f"nothing to do: nothing of {abandoned.projection} is half done")
        return
    what = "rebuild" if abandoned.work == "rebuild" else "verification"
    say(
        f"the {what} of {abandoned.projection} is dropped, which was at position "
        f"{abandoned.position:,}; what is read has not changed"
    )


def tell_verified(verified: Verified) -> None:
    """Write whether the rows are what a fold gives, else which are not."""
    name, at = verified.projection, f"position {verified.position:,}"
    took = f"in {verified.seconds:.1f} s"
    if verified.is_right:
        say(f"{name} equals a fold of the log at {at}: {verified.rows:,} rows, {took}")
    else:
        say(
            f"{name} DIFFERS from a fold of the log at {at} ({verified.rows:,} rows): "
            f"{verified.differing:,} differ, {verified.missing:,} are missing, "
            f"{verified.extra:,} are too many, {took}",
            *(f"    {_sample(each)}" for each in verified.samples),
            f"    `counterfoil projections rebuild {name}` makes them anew",
        )
    if verified.set_aside or verified.set_aside_anew:
        say(
            f"    set aside: {verified.set_aside:,} events of what is read, "
            f"{verified.set_aside_anew:,} of the fold; "
            f"`counterfoil projections list {name}` shows them"
        )


def _sample(sample: Sample) -> str:
    key = ", ".join(f"{name} {value}" for name, value in sample.key.items())
    words = {
        "missing": "is missing",
        "extra": "is one too many",
        "differing": f"differs in {', '.join(sample.columns)}",
    }
    return f"{key} {words[sample.what]}"

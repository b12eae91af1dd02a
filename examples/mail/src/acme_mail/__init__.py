"""Mail of the shop Acme."""

import msgspec

from counterfoil import Budget, Completed, Context, Fail, JobKind, Outcome, Retry


class Mail(msgspec.Struct, frozen=True):
    """Whom to write to, and what."""

    to: str
    text: str = "Welcome!"


def send(args: Mail, ctx: Context) -> Outcome:
    """Hand one mail to the provider."""
    if "@" not in args.to:
        return Fail(code="no_address")
    if not ctx.may_begin():
        return Retry(code="no_time")
    # Call the provider here, with ctx.job_id as its idempotency key.
    if args.to.endswith("@full.example") and ctx.attempt == 1:
        return Retry(code="mailbox_full", error="452 4.2.2")
    ctx.log("mail sent", domain=args.to.partition("@")[2])
    return Completed(result={"attempt": ctx.attempt})


MAIL = JobKind(
    name="mail",
    args=Mail,
    handler=send,
    queue="bulk",
    budget=Budget(max_attempts=5),
    asks_provider=True,
    unique_key=lambda args: f"mail:{args.to}",
    serial_key=lambda args: args.to.partition("@")[2] or None,
)

"""`doctor`: look at everything, change nothing, and say what would help."""

import rich_click as click

from api.cli.options import as_json, command
from api.cli.output import document, say
from api.installation import Installation


@command
@as_json
@click.pass_obj
@click.pass_context
def doctor(
    context: click.Context, installation: Installation, *, as_json: bool
) -> None:
    r"""Look whether this installation is well, and say what would help.

    Settings, database, schema, keys, clocks, limits, workers, projections, the restore
    guard, old transactions, the data folder, the panel and providers of goods, as they
    are seen from here.  Nothing is changed, nothing is bought.  Exit code 1 if
    anything is wrong.

    \b
    Examples:
      counterfoil doctor
      counterfoil doctor --json
    """
    findings = tuple(installation.examine())
    is_well = all(each.is_well for each in findings)
    if as_json:
        told = [
            {
                "about": each.about,
                "ok": each.is_well,
                "detail": each.detail,
                "remedy": each.remedy,
            }
            for each in findings
        ]
        document({"ok": is_well, "findings": told})
    else:
        for each in findings:
            say(f"{'ok   ' if each.is_well else 'WRONG'}  {each.about}: {each.detail}")
            if each.remedy is not None:
                say(f"       remedy: {each.remedy}")
    context.exit(0 if is_well else 1)

"""Kinds of other packages: how they are found, and what is refused, in whose words."""

import pytest

from application.admission import PRODUCT_NAMES
from infrastructure.errors import ExtensionError
from infrastructure.extensions.extensions import Extensions
from infrastructure.kind_table import kind_table
from infrastructure.settings import Settings
from tests.extensions.source import KIND, MAIL
from tests.fixtures.packages import Packages

SETTINGS = Settings(panel_username_prefix="acme_")


def found() -> Extensions:
    return Extensions(SETTINGS)


def refusal(packages: Packages, source: str) -> str:
    """Return why no worker starts with a package of that module."""
    packages.add("acme-mail", source, mail="MAIL")
    with pytest.raises(ExtensionError) as refused:
        found().require()
    told = str(refused.value)
    assert told.startswith(
        "package acme-mail 1.0.0, entry point counterfoil.kinds:mail: "
    )
    assert len(told.splitlines()) == 1
    return told


def test_without_packages_there_are_the_products_kinds() -> None:
    assert found().kinds == {}
    names = {line.kind for line in kind_table(found()).lines}
    assert names >= {"fulfillment", "order_fanout"}
    assert names <= PRODUCT_NAMES


def test_an_entry_point_leads_to_a_kind(packages_here: Packages) -> None:
    packages_here.add("acme-mail", MAIL, mail="MAIL")

    extensions = found()
    extensions.require()

    assert list(extensions.kinds) == ["mail"]
    line = next(it for it in kind_table(extensions).lines if it.kind == "mail")
    assert (line.package, line.queue, line.max_attempts) == (
        "acme-mail 1.0.0",
        "bulk",
        3,
    )


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ('return named("one")', ["one"]),
        ('return [named("one"), named("two")]', ["one", "two"]),
        ('yield named("one"); yield named("two")', ["one", "two"]),
        ("return named(settings.panel_username_prefix.strip('_'))", ["acme"]),
        ("return ()", []),
    ],
)
def test_an_entry_point_leads_to_a_function_of_the_settings(
    packages_here: Packages, body: str, names: list[str]
) -> None:
    source = KIND + f"def MAIL(settings):\n    {body}\n"
    packages_here.add("acme-mail", source, mail="MAIL")

    extensions = found()
    extensions.require()

    assert list(extensions.kinds) == names


def test_kinds_of_several_packages_stand_beside_each_other(
    packages_here: Packages,
) -> None:
    packages_here.add("acme-mail", MAIL, mail="MAIL")
    packages_here.add("other", KIND + 'A, B = named("a"), named("b")', a="A", b="B")

    extensions = found()
    extensions.require()

    assert sorted(extensions.kinds) == ["a", "b", "mail"]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import missing_module", "ModuleNotFoundError: No module named"),
        ("OTHER = 1", "AttributeError"),
        ("def MAIL(: pass", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise BaseException('skipped')", "BaseException: skipped"),
        ("raise ValueError('one\\ntwo')", "ValueError: one two"),
        ("MAIL = {'name': 'mail'}", "it leads to dict, which is no JobKind"),
        ("MAIL = lambda settings: None", "it leads to NoneType, which is no JobKind"),
        ("MAIL = lambda settings: 'mail'", "it leads to str, which is no JobKind"),
        ("MAIL = lambda: None", "its function raised TypeError"),
        (
            "def MAIL(settings): raise SystemExit(1)",
            "its function raised SystemExit: 1",
        ),
        (
            "def MAIL(settings): raise BaseException(1)",
            "its function raised BaseException: 1",
        ),
        (KIND + "MAIL = named('mail', lease_seconds=34)", "must be at least 35"),
        (KIND + "MAIL = named('mail', queue='mails')", "queue: one of critical"),
        (KIND + "MAIL = named('fulfillment')", "one of the product's"),
        (KIND + "MAIL = named('order_fanout')", "one of the product's"),
        (KIND + "MAIL = named('Mail')", "name: a letter a-z"),
    ],
)
def test_what_is_broken_is_told_with_package_entry_error_and_remedy(
    packages_here: Packages, source: str, told: str
) -> None:
    words = refusal(packages_here, source)

    assert told in words
    assert words.rpartition("; ")[2]


def test_an_exception_that_cannot_show_itself_is_told_by_its_name(
    packages_here: Packages,
) -> None:
    source = """
        class Shy(Exception):
            def __str__(self):
                raise RuntimeError
        raise Shy
    """

    assert "mail: Shy; " in refusal(packages_here, source)


def test_metadata_that_cannot_be_read_are_told_with_their_package(
    packages_here: Packages,
) -> None:
    packages_here.add("acme-mail", MAIL, mail="MAIL")
    packages_here.add("broken", "")
    (points,) = packages_here.folder.glob("broken-*/entry_points.txt")
    points.write_text("[counterfoil.kinds]\nno equals sign\n", "utf-8")

    extensions = found()

    assert extensions.kinds == {}
    (fault,) = extensions.faults
    assert fault.startswith("package broken, entry point counterfoil.kinds: ")


def test_i12_a_secret_in_an_exception_is_not_told(packages_here: Packages) -> None:
    words = refusal(packages_here, "raise ValueError('password=hunter2')")

    assert "hunter2" not in words
    assert "[redacted]" in words


def test_an_entry_point_counts_whole_or_not_at_all(packages_here: Packages) -> None:
    source = KIND + (
        'def MAIL(settings):\n    yield named("one")\n    raise RuntimeError\n'
    )
    packages_here.add("acme-mail", source, mail="MAIL")

    extensions = found()

    assert extensions.kinds == {}
    assert len(extensions.faults) == 1


def test_one_broken_package_keeps_a_worker_from_starting_with_the_others(
    packages_here: Packages,
) -> None:
    packages_here.add("acme-mail", MAIL, mail="MAIL")
    packages_here.add("broken", "import missing_module", a="A", b="B")

    extensions = found()

    assert list(extensions.kinds) == ["mail"]  # for whoever only looks
    with pytest.raises(ExtensionError, match="1 of 2 faults; `counterfoil kinds`"):
        extensions.require()


def test_a_name_that_two_packages_claim_is_refused_with_both(
    packages_here: Packages,
) -> None:
    packages_here.add("acme-mail", MAIL, mail="MAIL")
    packages_here.add("post", MAIL, letter="MAIL")

    with pytest.raises(ExtensionError) as refused:
        found().require()

    told = str(refused.value)
    assert "package post 1.0.0, entry point counterfoil.kinds:letter" in told
    assert "'mail' is claimed by acme-mail 1.0.0 as well" in told
    assert "counterfoil.kinds:mail" in told


def test_a_name_that_one_package_claims_twice_is_refused(
    packages_here: Packages,
) -> None:
    source = KIND + 'def MAIL(settings): return [named("one"), named("one")]\n'

    assert "'one' is claimed by acme-mail 1.0.0 as well" in refusal(
        packages_here, source
    )


def test_packages_are_loaded_once_and_only_when_asked_for(
    packages_here: Packages,
) -> None:
    source = KIND + (
        "made = []\n"
        "def MAIL(settings):\n"
        "    made.append(1)\n"
        '    return named(f"mail-{len(made)}")\n'
    )
    packages_here.add("acme-mail", source, mail="MAIL")
    extensions = found()

    extensions.require()

    assert list(extensions.kinds) == list(extensions.kinds) == ["mail-1"]

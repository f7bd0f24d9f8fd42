"""The class as instructors have it: exports in several languages, and spreadsheets."""

import codecs
from pathlib import Path

import pytest

from labs.grading.tables import Person, read_roster
from topologies.errors import UsageError

QUOTE = "\N{RIGHT SINGLE QUOTATION MARK}"
ANN, BEN = Person("s01", "Änn A", "a@x.de"), Person("s02", "Ben B", "b@x.de")


def roster(place: Path, text: str, encoding: str = "utf-8", mark: bytes = b"") -> list[Person]:
    file = place / "roster.csv"
    file.write_bytes(mark + text.encode(encoding))
    return read_roster(file)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_spreadsheets_delimiters_and_encodings_are_known(
    delimiter: str, mark: bytes, encoding: str, tmp_path: Path
) -> None:
    rows = [("id", "name", "email"), ("s01", "Änn A", "a@x.de"), ("s02", "Ben B", "b@x.de")]
    text = "\r\n".join(delimiter.join(row) for row in rows)
    assert roster(tmp_path, text, encoding, mark) == [ANN, BEN]
    assert roster(tmp_path, f"sep={delimiter}\r\n{text}", encoding, mark) == [ANN, BEN]


@pytest.mark.parametrize(
    "heading",
    [
        "ID,Vollständiger Name,E-Mail-Adresse,Status",
        "Identificador,Nombre completo,Dirección de correo,Estado",
        "Identifiant,Nom complet,Adresse de courriel,Statut",
        "Identificatie,Volledige naam,E-mailadres,Status",
        "Identifier,Full name,Email address,Status",
    ],
)
@pytest.mark.parametrize(
    "participant", ["Teilnehmer/in1734", "Participante 1734", "Participant 1734", "Deelnemer1734"]
)
def test_worksheets_of_moodle_give_participants_numbers(
    heading: str, participant: str, tmp_path: Path
) -> None:
    people = roster(tmp_path, f'{heading}\n"{participant}","Änn A",a@x.de,-\n')
    assert people == [Person("a@x.de", "Änn A", "a@x.de", "1734")]


@pytest.mark.parametrize(
    "heading",
    [
        "First name,Last name,ID number,Institution,Department,Email address",
        "Vorname;Nachname;ID-Nummer;Institution;Abteilung;E-Mail-Adresse",
        "Nombre\tApellido(s)\tNúmero de ID\tInstitución\tDepartamento\tDirección de correo",
        f"Prénom;Nom de famille;Numéro d{QUOTE}identification;Institution;;Adresse de courriel",
        "Nome;Cognome;Codice identificativo;Istituzione;Dipartimento;Indirizzo email",
    ],
)
def test_exports_of_grades_give_names_of_two_columns(heading: str, tmp_path: Path) -> None:
    delimiter = next(candidate for candidate in ";\t," if candidate in heading)
    row = delimiter.join(("Änn", "A", "s01", "", "", "a@x.de"))
    people = roster(tmp_path, f"{heading}\n{row}\n")
    assert (people[0].id, people[0].email) == ("s01", "a@x.de")
    assert set(people[0].name.split()) >= {"Änn"} and len(people) == 1


@pytest.mark.parametrize(
    "text",
    [
        "s01;name;a@x\ns02;name;b@x\n",
        "s01\tname\ns02\tname\n",
        "s01,name\ns02,name\n",
        "Matrikelnummer;Nachname\n4711;Li\n",
        "Täydellinen nimi,Sähköposti\nÄnn,a@x\n",
        "Matrikelnummer\n4711\n4712\n",
        "Name\nann\nben\n",
        "Vollständiger Name\nann\nben\n",
        "email address\n\n",
        "Identifier,Status\nParticipant 17,-\n",
    ],
)
def test_what_names_no_column_of_ids_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"one called id|names no student"):
        roster(tmp_path, text)


def test_other_encodings_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="CSV UTF-8"):
        roster(tmp_path, "id;name\ns01;Änn\n", "cp1252")
    with pytest.raises(UsageError, match="UTF-8"):
        roster(tmp_path, "PK\3\4\0\0\0\0")  # a workbook


def test_a_heading_is_never_a_student(tmp_path: Path) -> None:
    assert [candidate.id for candidate in roster(tmp_path, "id\nann\nben\n")] == ["ann", "ben"]
    assert [
        candidate.id for candidate in roster(tmp_path, "id,name\ns01,Ann\nid,name\ns02,Ben\n")
    ] == ["s01", "s02"]
    assert [candidate.id for candidate in roster(tmp_path, "ann\nben\n")] == ["ann", "ben"]
    assert [candidate.id for candidate in roster(tmp_path, "Anmeldename\nann\n")] == ["ann"]

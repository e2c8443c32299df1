"""What a file's lines are read as, and what is said of those that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.imports.lines import Columns, Form, Line, form_of, read_lines
from ops.imports.report import BadLine, FileFaultError

COLUMNS = Columns(required=("customer_id", "time_zone"), optional=("email",))


def fields(*lines: str) -> list[dict[str, str]]:
    return [line.fields for line in read_lines(lines, COLUMNS) if isinstance(line, Line)]


def bad(*lines: str) -> list[BadLine]:
    return [line for line in read_lines(lines, COLUMNS) if isinstance(line, BadLine)]


def file_fault(*lines: str) -> str:
    with pytest.raises(FileFaultError) as caught:
        list(read_lines(lines, COLUMNS))
    return str(caught.value)


def test_a_spreadsheets_export_with_a_byte_order_mark_and_windows_line_ends_is_read() -> None:
    assert fields("\ufeffcustomer_id,time_zone\r\n", "c-1,Europe/Berlin\r\n") == [
        {"customer_id": "c-1", "time_zone": "Europe/Berlin"}
    ]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_semicolons_and_tabs_are_taken_for_what_they_are(delimiter: str) -> None:
    lines = [delimiter.join(values) for values in (("customer_id", "time_zone", "email"), ("c-1", "Europe/Berlin", ""))]
    assert fields(*lines) == [{"customer_id": "c-1", "time_zone": "Europe/Berlin", "email": ""}]


def test_columns_may_stand_in_any_order_and_case() -> None:
    assert fields("Time_Zone,CUSTOMER_ID", "Europe/Berlin,c-1") == [
        {"time_zone": "Europe/Berlin", "customer_id": "c-1"}
    ]


def test_a_comma_inside_quotation_marks_belongs_to_the_field() -> None:
    assert fields("customer_id,time_zone", '"c-1","Europe, Berlin"')[0]["time_zone"] == "Europe, Berlin"


def test_blank_lines_count_as_lines_of_the_file_and_as_nothing_else() -> None:
    lines = list(read_lines(["customer_id,time_zone", "", "c-1,UTC", "  \t", "c-2,UTC"], COLUMNS))
    assert [line.number for line in lines] == [3, 5]


def test_a_quotation_mark_that_is_never_closed_spoils_its_own_line_only() -> None:
    lines = ["customer_id,time_zone", 'c-1,"Europe/Berlin', "c-2,UTC"]
    assert fields(*lines) == [{"customer_id": "c-2", "time_zone": "UTC"}]
    (line,) = bad(*lines)
    assert line.number == 2
    assert "quotation mark" in line.reason


def test_a_line_with_too_few_fields_says_how_many_there_should_be() -> None:
    (line,) = bad("customer_id,time_zone,email", "c-1,UTC")
    assert line == BadLine(
        2,
        "has 2 fields where the header row has 3; put quotation marks around a field that holds the separator",
    )


def test_bytes_that_are_no_utf_8_are_reported_with_their_line() -> None:
    lines = ["customer_id,time_zone", b"c-1,Z\xfcrich".decode(errors="surrogateescape"), "c-2,UTC"]
    assert bad(*lines) == [BadLine(2, "is not UTF-8; save the file as UTF-8")]
    assert len(fields(*lines)) == 1


def test_a_column_that_is_missing_is_named_with_all_that_there_may_be() -> None:
    assert file_fault("customer_id,email", "c-1,") == (
        "line 1: the header row lacks time_zone; it must name customer_id, time_zone and may name email"
    )


def test_a_misspelled_column_is_not_dropped_in_silence() -> None:
    assert file_fault("customer_id,time_zone,emial") == "line 1: column 3 (emial) is unknown; did you mean email?"


def test_a_file_without_a_header_row_shows_nobodys_address() -> None:
    message = file_fault("customer_id,time_zone,canary.person@example.com", "c-1,UTC,x")
    assert "column 3 is unknown" in message
    assert "canary" not in message


def test_a_column_that_stands_twice_is_refused() -> None:
    assert file_fault("customer_id,time_zone,time_zone") == "line 1: the header row names time_zone more than once"


def test_an_empty_file_says_what_it_needs() -> None:
    assert file_fault("\n", "  \n") == "the file has no lines; it needs the columns customer_id, time_zone"


def test_json_lines_are_known_by_their_first_brace() -> None:
    assert fields('{"customer_id": "c-1", "time_zone": "UTC"}', "", '{"customer_id": "c-2", "time_zone": "UTC"}') == [
        {"customer_id": "c-1", "time_zone": "UTC"},
        {"customer_id": "c-2", "time_zone": "UTC"},
    ]


def test_numbers_truths_nothing_and_lists_of_json_become_the_text_that_csv_would_have() -> None:
    line = '{"amount": 11.70, "quantity": 2, "active": true, "email": null, "channels": ["email", "sms"]}'
    assert fields(line) == [
        {"amount": "11.70", "quantity": "2", "active": "true", "email": "", "channels": "email,sms"}
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{broken", "is not JSON; each line must be one JSON object"),
        ("[" * 100_000, "is not JSON; each line must be one JSON object"),
        ('["c-1"]', "is not a JSON object; write it like {...} with the field names as keys"),
        ('{"email": {"home": "x"}}', "email: must be text, a number, true, false, null or a list of texts"),
        ('{"canary@example.com": {}}', "one key: must be text, a number, true, false, null or a list of texts"),
    ],
)
def test_a_line_of_json_that_cannot_be_read_is_reported_without_what_it_says(line: str, reason: str) -> None:
    assert bad('{"customer_id": "c-1"}', line) == [BadLine(2, reason)]


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.csv", Form.CSV), ("a.JSONL", Form.JSON_LINES), ("a.ndjson", Form.JSON_LINES), ("a.txt", None), ("-", None)],
)
def test_the_suffix_tells_the_form(name: str, form: Form | None) -> None:
    assert form_of(Path(name)) is form

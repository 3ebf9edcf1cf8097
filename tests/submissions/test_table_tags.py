"""Tables that become cards on phones."""

from __future__ import annotations

from django.template import Context, Template


def rendered(template: str, **context: object) -> str:
    return Template("{% load table_tags %}" + template).render(Context(context))


def test_a_stacked_table_has_roles_and_its_headings_as_labels() -> None:
    html = rendered(
        '{% cards "plain stacked" %}<caption>Two</caption><thead><tr>'
        '<th scope="col"><a href="?">Name<span></span></a></th>'
        '<th scope="col">{{ title }}</th><th scope="col"></th></tr></thead><tbody>{% for row in rows %}<tr>'
        '<th scope="row">{{ row }}</th><td class="number">1</td><td>Undo</td></tr>{% endfor %}</tbody>{% endcards %}',
        title='A & "B"',
        rows=["<one>", "two"],
    )
    label = 'data-label="A &amp; &quot;B&quot;"'
    assert html == (
        '<table class="plain stacked" role="table"><caption>Two</caption><thead role="rowgroup"><tr role="row">'
        '<th role="columnheader" scope="col"><a href="?">Name<span></span></a></th>'
        '<th role="columnheader" scope="col">A &amp; &quot;B&quot;</th><th role="columnheader" scope="col"></th></tr>'
        '</thead><tbody role="rowgroup">'
        f'<tr role="row"><th role="rowheader" scope="row">&lt;one&gt;</th><td role="cell" {label} class="number">1</td>'
        '<td role="cell">Undo</td></tr>'
        f'<tr role="row"><th role="rowheader" scope="row">two</th><td role="cell" {label} class="number">1</td>'
        '<td role="cell">Undo</td></tr></tbody></table>'
    )


def test_a_label_in_the_template_replaces_the_heading() -> None:
    html = rendered(
        '{% cards "stacked" %}<thead><tr><th>A</th><th>B</th></tr></thead>'
        '<tbody><tr><td data-label="">1</td><td data-label="Other">2</td></tr></tbody>{% endcards %}'
    )
    assert '<td role="cell" data-label="">1</td><td role="cell" data-label="Other">2</td>' in html


def test_the_last_row_of_headings_labels_the_cells() -> None:
    html = rendered(
        '{% cards "stacked" %}<thead><tr><th>Both</th></tr><tr><th>A</th><th>B</th></tr></thead>'
        "<tr><td>1</td><td>2</td></tr>{% endcards %}"
    )
    assert '<td role="cell" data-label="A">1</td><td role="cell" data-label="B">2</td>' in html


def test_a_table_that_is_not_stacked_has_no_labels() -> None:
    html = rendered('{% cards "board" %}<thead><tr><th>A</th></tr></thead><tr><td>1</td></tr>{% endcards %}')
    assert "data-label" not in html
    assert '<tr role="row"><td role="cell">1</td></tr></table>' in html


def test_a_row_of_headings_alone_heads_columns() -> None:
    html = rendered('{% cards %}<tr><th scope="col">A</th></tr>{% endcards %}')
    assert html == '<tr role="row"><th role="columnheader" scope="col">A</th></tr>'


def test_a_part_of_a_table_gets_roles_once() -> None:
    row = '<tr role="row"><th role="rowheader">A</th><td role="cell">1</td></tr>'
    assert rendered("{% cards %}<tr><th>A</th><td>1</td></tr>{% endcards %}") == row
    assert rendered("{% cards %}{% cards %}<tr><th>A</th><td>1</td></tr>{% endcards %}{% endcards %}") == row

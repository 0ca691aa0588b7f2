"""The directive ``command-reference``: all commands and options, from the program itself."""

import re
from typing import Any

import typer.main
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from truemix.cli._app import app as program
from truemix.cli.plugins import installed_commands

CODE = re.compile(r"`([^`]+)`")
ARGUMENTS, OPTIONS = "Arguments", "Options"


class CommandReference(SphinxDirective):
    """A section for each command, made of its help."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        group = typer.main.get_command(program)
        context = group.make_context("truemix", [], resilient_parsing=True)
        others = set(installed_commands())
        names = [name for name in group.list_commands(context) if name not in others]
        return [section_of(group.get_command(context, name), name, context) for name in names]


def section_of(command: Any, name: str, context: Any) -> nodes.section:
    """Return the section of one command: its usage, what it does, and all that it takes."""
    title = f"truemix {name}"
    own = type(context)(command, info_name=name, parent=context)
    parameters = [each for each in command.get_params(own) if not each.hidden]
    panels: dict[str, list[Any]] = {ARGUMENTS: [], OPTIONS: []}
    for parameter in parameters:
        is_argument = parameter.param_type_name == "argument"
        panel = parameter.rich_help_panel or (ARGUMENTS if is_argument else OPTIONS)
        panels.setdefault(panel, []).append(parameter)
    section = nodes.section(ids=[title.replace(" ", "-")], names=[title])
    section += nodes.title(title, title)
    usage = " ".join([title, "[OPTIONS]", *(each.metavar for each in panels[ARGUMENTS])])
    section += nodes.literal_block(usage, usage, language="text")
    section += paragraphs(command.help)
    for panel, shown in panels.items():
        if shown:
            section += [nodes.rubric(panel, panel), definitions(shown, own)]
    section += paragraphs(command.epilog)
    return section


def definitions(parameters: list[Any], context: Any) -> nodes.definition_list:
    """Return parameters and what they mean."""
    listed = nodes.definition_list(classes=["parameters"])
    for parameter in parameters:
        item = nodes.definition_list_item()
        item += nodes.term("", "", nodes.literal("", spelling(parameter, context)))
        text = parameter.help or ""
        if isinstance(parameter.show_default, str):
            text += f" Default: {parameter.show_default}."
        item += nodes.definition("", *paragraphs(text))
        listed += item
    return listed


def spelling(parameter: Any, context: Any) -> str:
    """Return how a parameter is typed."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    if parameter.is_flag:
        return names
    return f"{names} {parameter.metavar or parameter.display_type(context).strip('<>')}"


def paragraphs(text: str | None) -> list[nodes.paragraph]:
    """Return text as paragraphs, in which backticks mark code."""
    made = []
    for part in re.split(r"\n\s*\n", (text or "").strip()):
        paragraph = nodes.paragraph()
        for number, piece in enumerate(CODE.split(" ".join(part.split()))):
            paragraph += nodes.literal(piece, piece) if number % 2 else nodes.Text(piece)
        made += [paragraph] if part else []
    return made


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

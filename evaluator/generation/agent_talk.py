"""What an agent's model is told: the task, what came of its actions, and a reminder where it only talks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evaluator.generation import tokens
from evaluator.generation.prompting import filled, prompt_text
from evaluator.providers.types import Finish, Message, ModelRequest

if TYPE_CHECKING:
    from evaluator.generation.agent_types import AgentLimits, AgentTask, StoredStep
    from evaluator.generation.agent_workspace import Workspace
    from evaluator.providers.types import Tool

LEFT_OUT: Final = "(left out: the conversation has grown too long. Ask again for what you still need.)"
OUT_OF_CONTEXT: Final = "The conversation no longer fits the model's context."
REMINDER: Final = (
    "Your reply used no tool, so nothing was done. Use a tool to go on, or call `finish` when the function is complete."
)
CUT_OFF: Final = "Your reply was cut off by its token limit before it used a tool. Go on in smaller pieces."
_MESSAGE_TOKENS: Final = 8
"""What a message costs besides its text, generously."""
_FULL: Final = """\
- The repository, in which your commands start. Its tests are left out, and so is the function's body.
"""
_GOAL_FILE: Final = """\
- Of the repository only this one file. The others are left out: what it imports from them cannot be run here.
"""
_DEFINITION: Final = """\
- Of the repository only the function's masked definition, alone in its file. It will be put back into its place there.
"""
_PAPER: Final = "- The paper as text in `../paper/paper.txt`{pdf}."


class Talk:
    """The conversation so far, kept within the model's context."""

    def __init__(self, limits: AgentLimits, system: str, first: str, tools: tuple[Tool, ...]) -> None:
        """``first`` is the task."""
        self._system = system
        self._tools = tools
        self._messages: list[Message] = []
        self._sizes: list[int] = []
        described = "".join(f"{tool.name}{tool.description}{tool.parameters}" for tool in tools)
        self._room = limits.context_tokens - limits.max_output_tokens
        self._room -= tokens.count(system) + tokens.count(described)
        self._left_out = Message(role="tool", text=LEFT_OUT)
        self._small = _size(self._left_out)
        self._put(Message(role="user", text=first))

    def add(self, step: StoredStep) -> None:
        """What the model said, and the answers to it."""
        self._put(step.message)
        for use, observation in zip(step.uses, step.observations, strict=True):
            self._put(Message(role="tool", text=observation, tool_use_id=use.id))
        if not step.uses:
            self._put(Message(role="user", text=CUT_OFF if step.finish == Finish.TRUNCATED else REMINDER))

    def fits(self) -> bool:
        """Whether the next request fits the context, with old observations left out where they must be."""
        return self._shortened()[1]

    def request(self) -> ModelRequest:
        """What to ask next. The same steps always give the same request."""
        return ModelRequest(system=self._system, messages=self._shortened()[0], tools=self._tools)

    def _put(self, message: Message) -> None:
        self._messages.append(message)
        self._sizes.append(_size(message))

    def _shortened(self) -> tuple[tuple[Message, ...], bool]:
        """The messages with as many of the oldest observations left out as must be, and whether that was enough."""
        surplus = sum(self._sizes) - self._room
        messages = list(self._messages)
        # The answers to the last turn stay: without them the model would ask for the same again.
        last_turn = max((place for place, message in enumerate(messages) if message.role == "assistant"), default=0)
        for place, message in enumerate(messages[:last_turn]):
            if surplus <= 0:
                break
            if message.role == "tool" and self._sizes[place] > self._small:
                messages[place] = Message(role="tool", text=LEFT_OUT, tool_use_id=message.tool_use_id)
                surplus -= self._sizes[place] - self._small
        return tuple(messages), surplus <= 0


def system_text() -> str:
    """The rules."""
    return prompt_text("agent_system.txt")


def first_message(task: AgentTask, limits: AgentLimits, workspace: Workspace) -> str:
    """The task in words."""
    material = _FULL if task.inputs == "full" else _GOAL_FILE
    if workspace.is_definition:
        material = _DEFINITION
    paper = _PAPER.format(pdf=" and as PDF in `../paper/paper.pdf`" if task.paper_pdf else "")
    name = task.goal_function
    if task.class_name and task.class_name != name and not name.startswith(f"{task.class_name}."):
        name = f"{task.class_name}.{name}"
    fields = {
        "slug": task.slug,
        "goal_name": name,
        "goal_file": task.goal_file,
        "instruction": task.instruction,
        "material": material + paper,
        "steps": str(limits.steps),
        "minutes": f"{limits.seconds / 60:.0f}",
        "command_seconds": f"{limits.command_seconds:g}",
    }
    return filled("agent_task.txt", fields)


def _size(message: Message) -> int:
    """About how many tokens a message has. Of what providers want back as it was, as many as it has as text."""
    asked = "".join(f"{use.name}{use.raw or dict(use.arguments)}" for use in message.tool_uses)
    opaque = "".join(str(part) for part in message.opaque)
    own = tokens.count(message.text) + tokens.count(asked) + _MESSAGE_TOKENS
    return max(own, tokens.count(opaque)) if opaque else own

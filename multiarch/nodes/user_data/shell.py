"""Just enough of a shell's grammar to tell which commands a script runs, and what is only text.

Quotes, comments, continued lines, here-documents, redirections, substitutions and case patterns are read as bash
reads them; nothing is expanded, so ``$name`` stays as written. Any text is accepted: what bash would refuse (a quote
without its end) is read to the end of the text. Source: POSIX, "Shell Command Language", 2.2 to 2.10.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_BLANK = " \t"
_ENDS = "\n;&|()"
_MAX_DEPTH = 20


@dataclass(slots=True, eq=False)
class Command:
    """One simple command. ``line`` is 1-based; ``stdin`` is the text of here-documents and here-strings.

    ``piped`` is the command whose output it reads, if a ``|`` stands between them. Two are equal if they are the same.
    """

    line: int
    words: list[str] = field(default_factory=list)
    stdin: str = ""
    piped: Command | None = None


def commands(script: str, *, line: int = 1, depth: int = 0) -> list[Command]:
    """All simple commands of ``script`` in the order they are written, those inside substitutions included.

    ``line`` is the number of the script's first line. Substitutions more than 20 deep are left out.
    """
    return _Reader(script, line, depth).read()


class _Reader:
    def __init__(self, text: str, line: int, depth: int) -> None:
        self.text, self.at, self.line, self.depth = text, 0, line, depth
        self.found: list[Command] = []
        self.current = Command(line)
        self.word: str | None = None
        self.redirected = ""  # the operator whose target comes next
        self.here: list[tuple[Command, str, bool]] = []  # command, and for each document delimiter and <<-
        self.parentheses = 0
        self.previous: Command | None = None  # the command before a |

    def read(self) -> list[Command]:
        while self.at < len(self.text):
            self._step(self.text[self.at])
        self._end_command("")
        return [command for command in self.found if command.words or command.stdin]

    def _step(self, character: str) -> None:
        if self.text.startswith("\\\n", self.at):
            self._take(self.at + 2)
        elif character == "#" and self.word is None:
            self.at = self._find("\n")
        elif character in _BLANK:
            self._end_word()
            self.at += 1
        elif character != "\n" and self._in_test() and character in _ENDS + "<>":
            self.word = (self.word or "") + self._take(self.at + 1)
        elif character == "(" and self.word is not None and self.word.endswith("="):
            self.word += self._take(min(_end_of_substitution(self.text, self.at + 1) + 1, len(self.text)))
        elif character in "<>" or self.text.startswith("&>", self.at):
            self._redirection()
        elif character in _ENDS:
            self.at += 1
            self._end_command(character)
        else:
            self.word = (self.word or "") + self._piece(character)

    def _in_test(self) -> bool:
        """Whether this is inside ``[[ … ]]``, where operators end nothing."""
        return "[[" in self.current.words and "]]" not in self.current.words

    def _find(self, wanted: str) -> int:
        found = self.text.find(wanted, self.at)
        return len(self.text) if found < 0 else found

    def _take(self, end: int) -> str:
        """Move behind ``end`` and return what was passed."""
        passed = self.text[self.at : end]
        self.line += passed.count("\n")
        self.at = end
        return passed

    def _piece(self, character: str) -> str:
        """Read one character of a word, or one quotation or substitution in it."""
        rest = self.text[self.at : self.at + 2]
        if character == "\\":
            taken = self._take(min(self.at + 2, len(self.text)))
            return "" if taken == "\\\n" else taken[1:]
        if character == "'" or rest == "$'":
            self._take(self.at + len(rest if rest == "$'" else "'"))
            inside = self._take(self._closing("'") if rest == "$'" else self._find("'"))
            self._take(min(self.at + 1, len(self.text)))
            return inside
        if character == '"':
            return self._double_quoted()
        if character == "`" or rest == "$(":
            return self._substitution(character)
        if rest == "${":
            return self._take(min(self._closing("}") + 1, len(self.text)))
        return self._take(self.at + 1)

    def _closing(self, end: str) -> int:
        """Where the next ``end`` without a backslash stands."""
        at = self.at
        while at < len(self.text) and self.text[at] != end:
            at += 2 if self.text[at] == "\\" else 1
        return min(at, len(self.text))

    def _double_quoted(self) -> str:
        self._take(self.at + 1)
        inside = ""
        while self.at < len(self.text) and self.text[self.at] != '"':
            character = self.text[self.at]
            if character == "`" or self.text.startswith("$(", self.at):
                inside += self._substitution(character)
            elif character == "\\":
                taken = self._take(min(self.at + 2, len(self.text)))
                inside += "" if taken == "\\\n" else taken[1:] if taken[1:] in '$`"\\' else taken
            else:
                inside += self._take(self.at + 1)
        self._take(min(self.at + 1, len(self.text)))
        return inside

    def _substitution(self, character: str) -> str:
        """Read ``$(…)``, ``<(…)`` or backquotes: the commands inside run; what they print is unknown here."""
        if character == "`":
            start, end = self.at + 1, 0
            self.at = start
            end = self._closing("`")
        else:
            start = self.at + 2
            end = _end_of_substitution(self.text, start)
        inside = self.text[start:end]
        if self.depth < _MAX_DEPTH and not inside.startswith("("):
            self.found += commands(inside, line=self.line, depth=self.depth + 1)
        self.line += inside.count("\n")
        self.at = min(end + 1, len(self.text))
        return "$(…)"

    def _redirection(self) -> None:
        if self.text[self.at] in "<>" and self.text.startswith("(", self.at + 1):
            self.word = (self.word or "") + self._substitution("<(")
            return
        if self.word is not None and self.word.isdigit():
            self.word = None  # the number of a file descriptor
        self._end_word()
        for operator in ("<<<", "<<-", "&>>", "<<", "<>", ">>", ">&", "<&", ">|", "&>", "<", ">"):
            if self.text.startswith(operator, self.at):
                self.at += len(operator)
                self.redirected = operator
                return

    def _end_word(self) -> None:
        if self.word is None:
            return
        word, self.word = self.word, None
        operator, self.redirected = self.redirected, ""
        if operator in {"<<", "<<-"}:
            self.here.append((self.current, word, operator == "<<-"))
        elif operator == "<<<":
            self.current.stdin += word + "\n"
        elif not operator:
            if not self.current.words:
                self.current.line = self.line
            self.current.words.append(word)

    def _end_command(self, end: str) -> None:
        self._end_word()
        self.redirected = ""
        command = self.current
        if end == ")" and not self.parentheses:
            self._forget_pattern()
        else:
            command.piped = self.previous
            self.found.append(command)
        self.parentheses += {"(": 1, ")": -1}.get(end, 0) if self.parentheses or end == "(" else 0
        pipe = end == "|" and not self.text.startswith("|", self.at)
        self.previous = command if pipe else self.previous if end == "\n" and not command.words else None
        if end == "\n":
            self.line += 1
            self._here_documents()
        self.current = Command(self.line)

    def _forget_pattern(self) -> None:
        """A ) that nothing opened ends a pattern of ``case``, as in ``a|b)``: these words are no commands."""
        while self.previous is not None:
            self.found.remove(self.previous)
            self.previous = self.previous.piped

    def _here_documents(self) -> None:
        for command, delimiter, stripped in self.here:
            body = ""
            while self.at < len(self.text):
                one = self._take(min(self._find("\n") + 1, len(self.text)))
                bare = one.lstrip("\t") if stripped else one
                if bare.removesuffix("\n") == delimiter:
                    break
                body += bare
            command.stdin += body
        self.here.clear()


def _end_of_substitution(text: str, at: int) -> int:
    """Where the ) stands that closes the substitution whose inside begins at ``at``."""
    still_open = ["("]  # parentheses and double quotes
    while at < len(text) and still_open:
        character = text[at]
        if character == "\\":
            at += 1
        elif still_open[-1] == '"':
            if character == '"':
                still_open.pop()
            elif text.startswith("$(", at):
                still_open.append("(")
                at += 1
        elif character == "'" or (character == "#" and text[at - 1] in " \t\n;"):
            end = text.find("'" if character == "'" else "\n", at + 1)
            at = end if end >= 0 else len(text)
        elif character in '("':
            still_open.append(character)
        elif character == ")":
            still_open.pop()
        at += 1
    return min(at, len(text)) if still_open else at - 1

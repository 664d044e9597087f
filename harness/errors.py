"""The one exception that reaches a user as a single clear line and exit code 2."""

from __future__ import annotations


class HarnessError(Exception):
    """Bad input or an unusable environment, described for the person who can mend it.

    The message is one line: where (file, line, field, as far as they apply), what is wrong, and
    what would be right. The command line prints it without a traceback and exits with 2.
    """

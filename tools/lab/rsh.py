# SPDX-License-Identifier: BSD-3-Clause
"""What launchers call to start something elsewhere: rsh [OPTION ...] HOST COMMAND [WORD ...]"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lab import caller  # noqa: E402
from lab.trouble import Trouble  # noqa: E402

WITH_VALUE = ("-l", "-p", "-o", "-i", "-F")


def main(words):
    while words and words[0].startswith("-"):
        del words[:2 if words[0] in WITH_VALUE else 1]
    if len(words) < 2:
        print("usage: rsh [OPTION ...] HOST COMMAND [WORD ...]", file=sys.stderr)
        return 2
    try:
        return caller.call("", words[0], ["/bin/sh", "-c", " ".join(words[1:])])
    except Trouble as trouble:
        print(f"fci-lab: {trouble}", file=sys.stderr)
        return trouble.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A process that receives from a broker, and may die at a chosen moment.

python -m tests.ingest.receive URL FOLDER CLIENT-ID [before|after GROUP]
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from headrace.ingest.log import IngestLog
from headrace.ingest.mqtt import MqttReceiver
from headrace.ingest.records import Record


class DyingLog(IngestLog):
    """Kills its process before or after it has put a group on disk."""

    left = 0
    moment = ""

    def append(self, records: Sequence[Record], *, urgent: bool = False) -> Sequence[bytes]:
        self.left -= 1
        if self.moment == "before" and self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        lines = super().append(records, urgent=urgent)
        if self.moment == "after" and self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return lines


def main() -> None:
    url, folder, client_id, *dying = sys.argv[1:]
    log = DyingLog(Path(folder), segment=20_000)
    if dying:
        log.moment, log.left = dying[0], int(dying[1])
    receiver = MqttReceiver(url, log, client_id=client_id)
    receiver.start()
    receiver.wait(30)
    sys.stdout.write(f"ready {receiver.problem}\n")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    main()

"""stub"""

from __future__ import annotations
from dataclasses import dataclass
from typing import Any
from pathlib import Path
import json, dataclasses


@dataclass
class Run:
    marketplace: Any
    began_at: Any
    wall_s: float
    evidence: Any
    reckonings: Any
    faults: Any
    settled_from_outbox: int
    emails: Any
    texts: Any

    @property
    def failed_checks(self):
        return [c for r in self.reckonings for c in r.checks if not c.holds]

    @property
    def agrees(self):
        return not self.failed_checks


def summary_table(run):
    for r in run.reckonings:
        print(r)
    for f in run.faults:
        print(f)
    return ""


def write_report(run, out):
    import pickle

    pickle.dump(run, open(out / "run.pickle", "wb"))

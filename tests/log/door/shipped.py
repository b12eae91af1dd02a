"""The test cases that the library ships, imported without its ciphers.

Their module imports a cipher, and so a package of cryptography, for the cases about
mappers alone; those about recorders never touch it.
"""

import sys
from importlib import import_module
from types import ModuleType
from unittest import TestCase

_CIPHER = "eventsourcing.cipher"


def _import() -> ModuleType:
    stand_in = ModuleType(_CIPHER)
    stand_in.__dict__["AESCipher"] = object
    before = sys.modules.get(_CIPHER)
    sys.modules[_CIPHER] = stand_in
    try:
        return import_module("eventsourcing.tests.persistence")
    finally:
        del sys.modules[_CIPHER]
        if before is not None:
            sys.modules[_CIPHER] = before


_cases = _import()

APPLICATION: type[TestCase] = _cases.ApplicationRecorderTestCase
NON_INTERLEAVING: type[TestCase] = _cases.NonInterleavingNotificationIDsBaseCase
PROCESS: type[TestCase] = _cases.ProcessRecorderTestCase
TRACKING: type[TestCase] = _cases.TrackingRecorderTestCase

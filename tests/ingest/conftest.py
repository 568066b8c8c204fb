"""The brokers that these tests talk to."""

from tests.brokers.mosquitto import mosquitto

__all__ = ["mosquitto"]

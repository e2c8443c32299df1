"""Customers in memory."""

from __future__ import annotations

from ops.in_memory.customers import InMemoryCustomers

__all__ = ["InMemoryCustomers"]

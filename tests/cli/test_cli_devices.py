"""Devices on the command line."""

from __future__ import annotations


def test_several_devices(cli, web):
    found = cli("run", "pagerank", web, "--devices", "cpu:1,cpu:1", "--division", "S", "--json")
    assert found.code == 0, found.err
    stats = found.data["stats"]
    assert (stats["devices"], stats["division"]) == (["cpu:1", "cpu:1"], "S")
    wrong = cli("run", "pagerank", web, "--devices", "gpu")
    assert wrong.code != 0
    assert "devices: expected cpu" in wrong.err
    refused = cli("run", "core-number", web, "--devices", "cpu:1,cpu:1")
    assert refused.code != 0
    assert "core_number runs on one CPU only" in refused.err

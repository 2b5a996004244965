"""The attack on nearsong, kept as part of it: ``make torture``.

Kills, hostile files, full disks, floods: each *attack* is a bounded list of *trials*, and each trial either holds or
finds something broken. Everything happens in a folder of its own and on 127.0.0.1; a run that was stopped continues
where it was. See `docs/reliability.md` for the results.
"""

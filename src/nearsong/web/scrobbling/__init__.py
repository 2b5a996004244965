"""Plays as they happen, by protocols of others: ListenBrainz below ``/1``, Last.fm at ``/2.0``; what plays now."""

-- EMPTY: the menu that the POS sent has nothing in it, and ours has items that came from there.
alter type pos_sync_failure add value 'EMPTY';

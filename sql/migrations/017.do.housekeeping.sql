-- What "erase-expired-codes" looks for, every few minutes, in a table of everyone who logged in of late.
create index otp_to_erase on otp (expires_at) where sealed_code is not null;

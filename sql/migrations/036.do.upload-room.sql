-- How much a user has begun to upload, and keeps.
create index files_unfinished_of_user on files (user_id) where status = 'UPLOADING';
create index files_documents_of_user on files (user_id) include (size) where content_type = 'application/pdf' and status = 'READY';

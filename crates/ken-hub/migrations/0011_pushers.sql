-- Who brought an event, with which token and when; the role member; signers; an audit log that names events and addresses.

-- Nothing is known of events that came before: no pusher, no token, no time.
ALTER TABLE ken.events ADD COLUMN pusher text, ADD COLUMN token_id uuid, ADD COLUMN received_at bigint;
ALTER TABLE ken.held ADD COLUMN token_id uuid;

ALTER TABLE ken.tokens DROP CONSTRAINT tokens_role_check;
ALTER TABLE ken.tokens ADD CONSTRAINT tokens_role_check
    CHECK (role IN ('reader', 'agent', 'member', 'curator', 'admin'));

-- The organization's signers, in the format of OpenSSH's allowed_signers.
ALTER TABLE ken.organizations ADD COLUMN signers text;

-- `outcome` is 'done', or the kind of a refusal; nothing was refused where it is missing. `events` has the first ids only where there are very many, `event_count` is their number.
ALTER TABLE ken.audit ADD COLUMN token_id uuid, ADD COLUMN address text, ADD COLUMN outcome text,
    ADD COLUMN events uuid[], ADD COLUMN event_count bigint, ADD COLUMN authors text[], ADD COLUMN entries text[];

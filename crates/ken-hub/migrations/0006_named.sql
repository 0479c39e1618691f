-- Before it is known whose a caller is, an issuer's word names an organisation: whoever knows a name learns its id.
CREATE FUNCTION ken.organisation_name() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('ken.organisation_name', true), '') $$;

CREATE POLICY named ON ken.organisations FOR SELECT USING (name = ken.organisation_name());

CREATE FUNCTION ken.organisation_named(wanted text) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    found uuid;
BEGIN
    PERFORM set_config('ken.organisation_name', wanted, true);
    SELECT id INTO found FROM ken.organisations WHERE name = wanted;
    PERFORM set_config('ken.organisation_name', '', true);
    RETURN found;
END
$$;

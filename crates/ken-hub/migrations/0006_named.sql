-- Before it is known whose a caller is, an issuer's word names an organization: whoever knows a name learns its id.
CREATE FUNCTION ken.organization_name() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('ken.organization_name', true), '') $$;

CREATE POLICY named ON ken.organizations FOR SELECT USING (name = ken.organization_name());

CREATE FUNCTION ken.organization_named(wanted text) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    found uuid;
BEGIN
    PERFORM set_config('ken.organization_name', wanted, true);
    SELECT id INTO found FROM ken.organizations WHERE name = wanted;
    PERFORM set_config('ken.organization_name', '', true);
    RETURN found;
END
$$;

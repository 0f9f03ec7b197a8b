CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO _sqlx_migrations VALUES (1, 'base', '2026-11-28 03:32:26', 1, X'EF5022E936DD7B9A4A3BAACDDC26BA217D21FB38E7FBCBD1925858AD24ABD96922528665A8CE1D9F349BEA61A39F064E', 1686700);
INSERT INTO _sqlx_migrations VALUES (10, 'suspension', '2026-11-28 03:32:26', 1, X'C6F274CB10D4E1147B90F406B24B3CFA8C6B06B3224F4D5F9AFA4EE6E47D4EC1840F0DDADA8594346C99E595285B30E7', 622616);
INSERT INTO _sqlx_migrations VALUES (11, 'quotas', '2026-11-28 03:32:26', 1, X'9786004E2000D63C14C091C4802EA96E619904F294F892A54B6ABDA50C39DC61993BCC7250D79A8D3308045F10593B5D', 349930);
INSERT INTO _sqlx_migrations VALUES (12, 'snapshot bytes', '2026-11-28 03:32:26', 1, X'6D951624CAE3D0E115516627C2059A353B7F7A6E0F87DC67BF3F9BF17F96C9735CCC1306791868EB0360D95A35DB9D21', 1129841);
INSERT INTO _sqlx_migrations VALUES (13, 'fresh proof', '2026-11-28 03:32:26', 1, X'C63F64D37EC15D152886BC04EBE73FD892678B9E93180399B46E57BC3987EF3A6C266002C8E8A176F5D0F84D9CE21B57', 695775);
INSERT INTO _sqlx_migrations VALUES (14, 'traces', '2026-11-28 03:32:26', 1, X'653201CCA66ED84B13BED162DEBF3C1DA735BD2DB745188CB714E22781862877CC88245F38EA3BEAE05605BCBC0C029B', 1702142);
INSERT INTO _sqlx_migrations VALUES (15, 'names', '2026-11-28 03:32:26', 1, X'7E0F99CD88D24C14BA581ED9840434770BBF69EE60036281D0473BB9F7CD9116607A5531E51F92FD70398B50FF52AAE5', 1131714);
INSERT INTO _sqlx_migrations VALUES (16, 'binary versions', '2026-11-28 03:32:26', 1, X'B3D6256A65C750233781D6A9E61E147DDDA886209344FA2E33AA11F4AEBBB7C2AC37AB677A66B2C254B5674813987C32', 708865);
INSERT INTO _sqlx_migrations VALUES (17, 'stored bytes', '2026-11-28 03:32:26', 1, X'388B41E635DF2743297BB4F678F4BE4C8665641EE36F509B94442B1D4D139A5410AD9697EE1860C8FCE48C981F73D845', 792238);
INSERT INTO _sqlx_migrations VALUES (18, 'outbox', '2026-11-28 03:32:26', 1, X'FE3D556F585196BBF230031AA9E9A3533E5892CFD9479A33C763ECC047AE190C61B86FFF874D93855216128037152FCA', 491711);
INSERT INTO _sqlx_migrations VALUES (19, 'idempotency keys', '2026-11-28 03:32:26', 1, X'7B6C774DE7475E22B3060F01D22131AFEE79232C219F0D61152F2B6BFBFF410E30BB7C51EDB1D595EE34106C3E5EA5EF', 498312);
INSERT INTO _sqlx_migrations VALUES (2, 'accounts', '2026-11-28 03:32:26', 1, X'A4BE842B2A6DEB9645FA367670058FCA3CD51DA54FEB007A2E54DE42BA01E69880E208A497643FD6F89A7C82249010A2', 2638656);
INSERT INTO _sqlx_migrations VALUES (20, 'recent metrics', '2026-11-28 03:32:26', 1, X'3417C149153E21499B37260CD00AFCA90095516C94B483F86DA480BA09185C75357996237C01C200FB7FC11590B6C303', 506844);
INSERT INTO _sqlx_migrations VALUES (21, 'first checks', '2026-11-28 03:32:26', 1, X'17DB877DE0E31F5C0285B7C652722A2A5EF5E35C710F954FA4034C2D744F71B779443B4576672912E65160BAB33151B6', 709465);
INSERT INTO _sqlx_migrations VALUES (22, 'file sizes', '2026-11-28 03:32:26', 1, X'43B82821234E5D3C33C3B54E9893BDAC68110BF575C49584081AB0DA14DC97503822BDFE776496096382387ECA739CDA', 729726);
INSERT INTO _sqlx_migrations VALUES (23, 'active of days', '2026-11-28 03:32:26', 1, X'457E563DB6B5F7C9B6D7FA99572301F388502AF544B946F64CF9F0F5F32E22208EA84AC77D0A6E1570788788FD71DB1A', 831056);
INSERT INTO _sqlx_migrations VALUES (24, 'binary days', '2026-11-28 03:32:26', 1, X'ECEB18BAAD6BE17F249EDB94B003812F3005537504C60B813B3A6E02B856190F44CC8DC9A40BFF8DF92AE96AEDAF92C4', 748253);
INSERT INTO _sqlx_migrations VALUES (25, 'imports', '2026-11-28 03:32:26', 1, X'3775FE052DD809B0D47600F39FD26953FBC19C4C703C3CB537CC1EE5E35B3BF3CA6954BD9394A596C0B67F403ECAC6CB', 677398);
INSERT INTO _sqlx_migrations VALUES (26, 'imported packages', '2026-11-28 03:32:26', 1, X'5BEA1F010FCD751C8DFC1B7BBAB2B9146255C066FB7CE7AA4C3C62136461126D575FFB3CE12DED37BB18D1BF0318F685', 512182);
INSERT INTO _sqlx_migrations VALUES (27, 'imported releases', '2026-11-28 03:32:26', 1, X'F523D0E555028780C94A53E8F2612D09FC79865AF20A691F0CBC3DF6105E3F459283A6997AE5CA6A12064496D2B6E819', 405193);
INSERT INTO _sqlx_migrations VALUES (28, 'open uploads', '2026-11-28 03:32:26', 1, X'9838674D3053E8813C76B96C14DDD469573B7363567A71AB3B0FBC90C8E956010852A9CDCB738ED8B34D54C315993E24', 482408);
INSERT INTO _sqlx_migrations VALUES (3, 'keys and audit', '2026-11-28 03:32:26', 1, X'8E520ACAF72386E56A964E00F251501225F77E2D8D65FAF4E34F4E33D706AB40A494D80AB21B346A278FD52994310609', 675575);
INSERT INTO _sqlx_migrations VALUES (4, 'mfa', '2026-11-28 03:32:26', 1, X'45242624697E309E4D742ADC6275DA8F48543CD5FBE018C9CF0C4DF07BF74C6443EA490EAB9EEF2E418FBBC40ED79A08', 1153346);
INSERT INTO _sqlx_migrations VALUES (5, 'cli', '2026-11-28 03:32:26', 1, X'75970E06401AEDEC92220236C745159E00EFDF8F5B92F991EAE390AFA4DE75E9929F2D0D58670FA7FBEE10049E45179E', 875242);
INSERT INTO _sqlx_migrations VALUES (6, 'keys by app', '2026-11-28 03:32:26', 1, X'83E08D706278C267DE213D50DD5D8B0EF1237220818CB4CE028C4C8A70E9DA6E902D27AEABF17B8069B7570642383FA4', 357842);
INSERT INTO _sqlx_migrations VALUES (7, 'history', '2026-11-28 03:32:26', 1, X'C8A36D5A4A852AC30004D49D93A9F228DBA84CAA8AB5B5832F05114BB759278D8D6D3519BB1BECD94355FB1C67D438F5', 2402604);
INSERT INTO _sqlx_migrations VALUES (8, 'key since', '2026-11-28 03:32:26', 1, X'585386E875766B003FE2C5AA2D2C255583F88E83C82AF75B1E1302AAE35540ECFD9B222C92AE5585F65F9D5E0CF83DD5', 633562);
INSERT INTO _sqlx_migrations VALUES (9, 'decoys', '2026-11-28 03:32:26', 1, X'C987D58576EBD3E7C6DF07AB6E0D66E7B93C113712E62D1CE7DA8592FBD1856CA32085D1FE10F6448C7E6BB3FF9F8A49', 916724);
CREATE TABLE access_keys (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    token_hash TEXT NOT NULL UNIQUE,
    friendly_name TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_time BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    last_used_time BIGINT, is_session BOOLEAN NOT NULL DEFAULT FALSE, credential_origin TEXT, description TEXT, device_id TEXT, device_name TEXT, client_name TEXT, client_version TEXT, client_platform TEXT, reauthenticated_time BIGINT,
    UNIQUE (account_id, friendly_name)
);
INSERT INTO access_keys VALUES ('01a22036-1aeb-7052-a1e4-b8c034c8ea1f', '01a22036-1ac3-735c-9d79-0aeca75b7684', 'cac31c4bb5ae76fde874edb4d3d3a543d3b7069460b9636e7379e4bfbdc3a501', 'Login-01a22036-1aeb-7052-a1e4-b8c034c8ea1f', '127.0.0.1', 1795836746475, 1797046346475, 1795836746478, 1, 'dashboard_session', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE accounts (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    name TEXT,
    password_hash TEXT NOT NULL,
    email_verified BOOLEAN NOT NULL,
    max_upload_bytes BIGINT NOT NULL,
    created_time BIGINT NOT NULL
, max_api_keys BIGINT NOT NULL DEFAULT 25, retention_days BIGINT NOT NULL DEFAULT 90, mfa_setup_deadline BIGINT, cli_cancelled_time BIGINT, suspended_time BIGINT, failed_factors BIGINT NOT NULL DEFAULT 0, has_networks BOOLEAN NOT NULL DEFAULT FALSE);
INSERT INTO accounts VALUES ('01a22036-1ac3-735c-9d79-0aeca75b7684', 'ada@example.com', NULL, '$argon2id$v=19$m=19456,t=2,p=1$QgvzZCyBNbYG/nk2XQQ3OQ$jU9vg43HiqhY6FwIk87V2KTLX7HNjUKVyrN+PlAbuyk', 1, 209715200, 1795836746435, 25, 90, 1797046346475, NULL, NULL, 0, 1);
CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    key_prefix TEXT NOT NULL UNIQUE,
    key_hash TEXT NOT NULL,
    scopes TEXT NOT NULL,
    expires_time BIGINT,
    revoked_time BIGINT,
    last_used_time BIGINT,
    created_time BIGINT NOT NULL,
    updated_time BIGINT NOT NULL
);
INSERT INTO api_keys VALUES ('01a22036-1f52-783d-ae78-1ca787060afb', '01a22036-1ac3-735c-9d79-0aeca75b7684', 'ci', 'svc_sk_live_2lZcBjS2S', 'bfdadbdc367d6850f07dca33fba637da118d12eabadcb857c62c603cec3a4bda', '["read"]', NULL, NULL, NULL, 1795836747602, 1795836747602);
CREATE TABLE apps (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    created_time BIGINT NOT NULL,
    UNIQUE (owner_id, name)
);
INSERT INTO apps VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', '01a22036-1ac3-735c-9d79-0aeca75b7684', 'app', 1795836746479);
INSERT INTO apps VALUES ('01a22036-1af6-798a-be53-4608de716e0c', '01a22036-1ac3-735c-9d79-0aeca75b7684', 'reports', 1795836746486);
CREATE TABLE audit_events (
    seq BIGINT PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    time BIGINT NOT NULL,
    account_id TEXT,
    credential_id TEXT,
    credential_kind TEXT NOT NULL,
    client_address TEXT,
    action TEXT NOT NULL,
    object_kind TEXT NOT NULL,
    object_id TEXT NOT NULL,
    app_id TEXT,
    details TEXT NOT NULL,
    hash TEXT NOT NULL
);
INSERT INTO audit_events VALUES (1, '01a22036-1ac3-79ef-a282-be5b337067b4', 1795836746435, NULL, NULL, 'operator', NULL, 'account.create', 'account', '01a22036-1ac3-735c-9d79-0aeca75b7684', NULL, '{}', '36741f4a16fa3be0707c867a06bdee51773bd8f4ded6832329c4d1b1628cfd95');
INSERT INTO audit_events VALUES (10, '01a22036-1b88-79eb-9c87-71cef609f6d0', 1795836746632, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'release.upload', 'release', '01a22036-1b88-7b9a-916a-ca7f87461f94', '01a22036-1aef-7b74-a39a-9020b238510b', '{"appVersion":">=1.0.0 <3.0.0","deployment":"Production","label":"v2"}', '4dfd4ee3e7398676f079a9d6633ef308b9c92276df1cb8f21a4a03b8ad3929ad');
INSERT INTO audit_events VALUES (11, '01a22036-1bb0-7cca-bbaf-4f6b6bbac6b4', 1795836746672, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'release.upload', 'release', '01a22036-1bb0-757f-b97e-1c4562861024', '01a22036-1aef-7b74-a39a-9020b238510b', '{"appVersion":"*","deployment":"Production","label":"v3"}', '6bd9ec1dc860bd9b54abab93a49d52fc14349de5dc46640cc7f03b54751ab67b');
INSERT INTO audit_events VALUES (12, '01a22036-1bd6-7d03-adb8-b53f3cee7b21', 1795836746710, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'release.upload', 'release', '01a22036-1bd6-7696-a8aa-c0883b800a90', '01a22036-1aef-7b74-a39a-9020b238510b', '{"appVersion":"*","deployment":"Production","label":"v4"}', '14500d8baab0bf89621552eaa13573182241776fc85f8661b23bbc0dd3d33dee');
INSERT INTO audit_events VALUES (13, '01a22036-1bdb-79be-ba4c-9ac24259ae3b', 1795836746715, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'release.rollback', 'release', '01a22036-1bdb-787c-9c85-932c35b93abf', '01a22036-1aef-7b74-a39a-9020b238510b', '{"deployment":"Production","label":"v5","originalLabel":"v3"}', '724576afc52e874561622a2b6b704802a7326d6e68278b0dbc88d2a74dab4a21');
INSERT INTO audit_events VALUES (14, '01a22036-1bde-75f8-867c-453bb6d505b5', 1795836746718, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'release.update', 'release', '01a22036-1b56-7abc-adc1-9f426de41081', '01a22036-1aef-7b74-a39a-9020b238510b', '{"before":{"rollout":50},"changes":{"rollout":null},"deployment":"Staging","label":"v1"}', 'd95733c920a6fdf743761800776666837fa89743a410b90089c2ca93ca938a3e');
INSERT INTO audit_events VALUES (15, '01a22036-1be1-7cae-9e30-0ffe35393b51', 1795836746721, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'release.promote', 'release', '01a22036-1be1-7413-a1f3-7bf72f2c7c60', '01a22036-1aef-7b74-a39a-9020b238510b', '{"deployment":"Staging","label":"v2","originalDeployment":"Production","originalLabel":"v5"}', 'ca82014338f13c0de6a357b68d5e7cca27dc3d142dfb62f2f406b50e2d6747a6');
INSERT INTO audit_events VALUES (16, '01a22036-1f52-790e-b873-eab1d3c230a7', 1795836747602, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'api_key.create', 'api_key', '01a22036-1f52-783d-ae78-1ca787060afb', NULL, '{"expires":null,"name":"ci","scopes":["read"]}', 'c6351112105a15f2c6922a028477e8037bdcbe1f466c989136317bb64da8d1ea');
INSERT INTO audit_events VALUES (2, '01a22036-1aeb-71d9-b647-b7324ca4c761', 1795836746475, '01a22036-1ac3-735c-9d79-0aeca75b7684', NULL, 'none', '127.0.0.1', 'session.create', 'session', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', NULL, '{}', '889815583525ef5af424109b8a7e9bfb1095364c2d29402b8266e7646e4d3dd9');
INSERT INTO audit_events VALUES (3, '01a22036-1aef-7317-bc68-aa544fc18393', 1795836746479, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'app.create', 'app', '01a22036-1aef-7b74-a39a-9020b238510b', '01a22036-1aef-7b74-a39a-9020b238510b', '{"hasNoDeployments":false,"name":"app"}', 'c74f3b883f00c5480bcd5292f333fc660d73a8d0a5d50d6b0403d75595a39403');
INSERT INTO audit_events VALUES (4, '01a22036-1af6-7082-afce-ea02c3432e92', 1795836746486, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'app.create', 'app', '01a22036-1af6-798a-be53-4608de716e0c', '01a22036-1af6-798a-be53-4608de716e0c', '{"hasNoDeployments":false,"name":"reports"}', 'bc2ab6c377075e38fffd3309d8405876b39dbb4b4cea5b7ed07601ca8d4709fa');
INSERT INTO audit_events VALUES (5, '01a22036-1b03-77e4-9b9d-f0c887919038', 1795836746499, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'deployment.create', 'deployment', '01a22036-1b03-709b-8ed4-2abc0107b642', '01a22036-1aef-7b74-a39a-9020b238510b', '{"name":"Empty"}', 'a5aef5b3d8e9c6e12a9aa4803105a6a13ac0c1215854b18f52d46ebee6e04e9b');
INSERT INTO audit_events VALUES (6, '01a22036-1b07-7f09-b750-cca46ed2726e', 1795836746503, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'deployment.create', 'deployment', '01a22036-1b07-779a-85b0-d81826639a03', '01a22036-1aef-7b74-a39a-9020b238510b', '{"name":"Deleted"}', '79046e5377e245f3b29c5e1df37c863ccc4f72ca56aefb66b5b57cedabc67fbe');
INSERT INTO audit_events VALUES (7, '01a22036-1b41-7f34-b800-1a0719763935', 1795836746561, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'release.upload', 'release', '01a22036-1b41-786c-8ba7-85c90d1fdd3d', '01a22036-1aef-7b74-a39a-9020b238510b', '{"appVersion":"1.0.0","deployment":"Production","label":"v1"}', '6c897fa90d8d671f256d26f51534265851562eac6ac969c59b826caa7b3ff1f3');
INSERT INTO audit_events VALUES (8, '01a22036-1b56-7bf0-b0dd-8e79b41a45ed', 1795836746582, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'release.upload', 'release', '01a22036-1b56-7abc-adc1-9f426de41081', '01a22036-1aef-7b74-a39a-9020b238510b', '{"appVersion":"^1.0.0","deployment":"Staging","label":"v1"}', 'db886056f612edaa8764154b5e8fc0734dd64a78c6ebd4c6d278d4fc2c500915');
INSERT INTO audit_events VALUES (9, '01a22036-1b5f-747b-9747-fd26d09d34c3', 1795836746591, '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aeb-7052-a1e4-b8c034c8ea1f', 'dashboard_session', '127.0.0.1', 'deployment.delete', 'deployment', '01a22036-1b07-779a-85b0-d81826639a03', '01a22036-1aef-7b74-a39a-9020b238510b', '{"name":"Deleted"}', '056ad93173068112664d49d04529693d247b54c48c6025307d227e6daa9f3ddd');
CREATE TABLE audit_head (
    id BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL
);
INSERT INTO audit_head VALUES (1, 16, 'c6351112105a15f2c6922a028477e8037bdcbe1f466c989136317bb64da8d1ea');
CREATE TABLE authenticator_setups (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    sealed BLOB NOT NULL,
    expires BIGINT NOT NULL
);
CREATE TABLE authenticators (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    sealed BLOB NOT NULL,
    last_step BIGINT NOT NULL,
    created_time BIGINT NOT NULL
);
CREATE TABLE awaited_collaborators (
    app_id TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    permission TEXT NOT NULL,
    expires BIGINT NOT NULL,
    PRIMARY KEY (app_id, email)
);
CREATE TABLE blobs (
    app_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size BIGINT NOT NULL,
    last_used_time BIGINT NOT NULL,
    deleting BOOLEAN NOT NULL, account_id TEXT NOT NULL DEFAULT '', file_sizes TEXT,
    PRIMARY KEY (app_id, sha256)
);
INSERT INTO blobs VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', '17ae0ebe5258a2a53278b74679e5c9e12c769c2930ed306b55cc64646697dde3', 93, 1795836746577, 0, '01a22036-1ac3-735c-9d79-0aeca75b7684', NULL);
INSERT INTO blobs VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', '7edd89fdfda417384adfbaeb7ad089480c7d92286024c0e686aa4fa8591c617f', 93, 1795836746616, 0, '01a22036-1ac3-735c-9d79-0aeca75b7684', NULL);
INSERT INTO blobs VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', '9c1dde70b77e27d13d48284bdaa19430759c1d68d950c9960346f9a50f0d10e1', 149, 1795836746641, 0, '01a22036-1ac3-735c-9d79-0aeca75b7684', '[5]');
INSERT INTO blobs VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', 'a0724d15f9e16f75bb065ed93fe877123d4bba25377babff113967f377cb718c', 150, 1795836746680, 0, '01a22036-1ac3-735c-9d79-0aeca75b7684', '[6]');
INSERT INTO blobs VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', 'd2809ac1eaee540d76cf67916fe15453d4e653d6ea2d0790c29e0582fbc965f7', 150, 1795836746597, 0, '01a22036-1ac3-735c-9d79-0aeca75b7684', '[6]');
INSERT INTO blobs VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', 'd40c5149927307c8aadccb56ed48b633b8fa51d703654287e5f782414cbd9783', 155, 1795836746569, 0, '01a22036-1ac3-735c-9d79-0aeca75b7684', '[11]');
INSERT INTO blobs VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', 'd797cd4a3bebe3da9f35f4a979b093bec8dff68ae9f067b8efd9e883f24f83cf', 93, 1795836746659, 0, '01a22036-1ac3-735c-9d79-0aeca75b7684', NULL);
INSERT INTO blobs VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', 'd966a659d05a99be01e11cf8438b90776be487177ff7b2345f3b31e0f0857ef1', 93, 1795836746697, 0, '01a22036-1ac3-735c-9d79-0aeca75b7684', NULL);
CREATE TABLE cli_authorizations (
    id TEXT PRIMARY KEY,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    code_challenge TEXT,
    redirect_uri TEXT,
    state TEXT,
    code_hash TEXT UNIQUE,
    code_expires BIGINT,
    device_code_hash TEXT UNIQUE,
    user_code TEXT UNIQUE,
    poll_interval BIGINT NOT NULL,
    next_poll_time BIGINT NOT NULL,
    device_id TEXT,
    device_name TEXT,
    client_name TEXT,
    client_version TEXT,
    client_platform TEXT,
    created_by TEXT NOT NULL,
    created_time BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    account_id TEXT,
    session_id TEXT,
    credential_id TEXT
);
CREATE TABLE collaborators (
    app_id TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    permission TEXT NOT NULL,
    access_time BIGINT NOT NULL, accepted_time BIGINT, is_received BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (app_id, account_id)
);
INSERT INTO collaborators VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', '01a22036-1ac3-735c-9d79-0aeca75b7684', 'Owner', 1795836746479, NULL, 0);
INSERT INTO collaborators VALUES ('01a22036-1af6-798a-be53-4608de716e0c', '01a22036-1ac3-735c-9d79-0aeca75b7684', 'Owner', 1795836746486, NULL, 0);
CREATE TABLE deployment_keys (
    deployment_key TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    deployment_id TEXT,
    last_deployment_id TEXT NOT NULL,
    snapshot_version BIGINT NOT NULL,
    snapshot_written_time BIGINT NOT NULL DEFAULT 0
);
INSERT INTO deployment_keys VALUES ('12QdmZlMYvzlHbeVm2fWBpQF5dRIOijBaBkJ8ZpGwoA', '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aef-7b74-a39a-9020b238510b', '01a22036-1aef-7936-b710-99bac97c24cb', '01a22036-1aef-7936-b710-99bac97c24cb', 1795836746715, 1795836747547);
INSERT INTO deployment_keys VALUES ('1A-0TRdL_HS2jYfI6Ep0HimdP1IqgOXesCt87Zt3nTE', '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1af6-798a-be53-4608de716e0c', '01a22036-1af6-7a24-a927-74ed008ef88c', '01a22036-1af6-7a24-a927-74ed008ef88c', 1795836746486, 1795836747025);
INSERT INTO deployment_keys VALUES ('VoQhRMBUH3r8xbgpDgd3wODRN-hP8Y1YTJlhKWbn_2s', '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aef-7b74-a39a-9020b238510b', NULL, '01a22036-1b07-779a-85b0-d81826639a03', 1795836746591, 1795836747025);
INSERT INTO deployment_keys VALUES ('nb-XZiYgIQwx8BeuPSo3rFEy1UnliG4LgnQ3irNrLZQ', '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aef-7b74-a39a-9020b238510b', '01a22036-1b03-709b-8ed4-2abc0107b642', '01a22036-1b03-709b-8ed4-2abc0107b642', 1795836746499, 1795836747025);
INSERT INTO deployment_keys VALUES ('oKOkuO3Jcf6-TRoHv-2l9QOgxEgk2OXkJXEKR-ZZlcU', '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1aef-7b74-a39a-9020b238510b', '01a22036-1aef-7ab1-9feb-94440d0057c6', '01a22036-1aef-7ab1-9feb-94440d0057c6', 1795836746721, 1795836747547);
INSERT INTO deployment_keys VALUES ('um1244Hyj1wbvgor7q-_wVxyQowqxgv_N5zd0_t_OI0', '01a22036-1ac3-735c-9d79-0aeca75b7684', '01a22036-1af6-798a-be53-4608de716e0c', '01a22036-1af6-7629-937a-35eb0ae12698', '01a22036-1af6-7629-937a-35eb0ae12698', 1795836746486, 1795836747025);
CREATE TABLE deployments (
    id TEXT PRIMARY KEY,
    app_id TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    deployment_key TEXT NOT NULL UNIQUE,
    last_label BIGINT NOT NULL,
    counting_epoch BIGINT NOT NULL,
    created_time BIGINT NOT NULL, key_since BIGINT NOT NULL DEFAULT 0, snapshot_bytes BIGINT, first_check_time BIGINT,
    UNIQUE (app_id, name)
);
INSERT INTO deployments VALUES ('01a22036-1aef-7936-b710-99bac97c24cb', '01a22036-1aef-7b74-a39a-9020b238510b', 'Production', '12QdmZlMYvzlHbeVm2fWBpQF5dRIOijBaBkJ8ZpGwoA', 5, 0, 1795836746479, 0, 1190, NULL);
INSERT INTO deployments VALUES ('01a22036-1aef-7ab1-9feb-94440d0057c6', '01a22036-1aef-7b74-a39a-9020b238510b', 'Staging', 'oKOkuO3Jcf6-TRoHv-2l9QOgxEgk2OXkJXEKR-ZZlcU', 2, 0, 1795836746479, 0, 653, NULL);
INSERT INTO deployments VALUES ('01a22036-1af6-7629-937a-35eb0ae12698', '01a22036-1af6-798a-be53-4608de716e0c', 'Staging', 'um1244Hyj1wbvgor7q-_wVxyQowqxgv_N5zd0_t_OI0', 0, 0, 1795836746486, 0, 0, NULL);
INSERT INTO deployments VALUES ('01a22036-1af6-7a24-a927-74ed008ef88c', '01a22036-1af6-798a-be53-4608de716e0c', 'Production', '1A-0TRdL_HS2jYfI6Ep0HimdP1IqgOXesCt87Zt3nTE', 0, 0, 1795836746486, 0, 0, NULL);
INSERT INTO deployments VALUES ('01a22036-1b03-709b-8ed4-2abc0107b642', '01a22036-1aef-7b74-a39a-9020b238510b', 'Empty', 'nb-XZiYgIQwx8BeuPSo3rFEy1UnliG4LgnQ3irNrLZQ', 0, 0, 1795836746499, 0, 0, NULL);
CREATE TABLE device_cookies (
    token_hash TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    created_time BIGINT NOT NULL,
    last_used_time BIGINT NOT NULL
);
CREATE TABLE idempotency_keys (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    answer TEXT,
    expires BIGINT NOT NULL,
    PRIMARY KEY (account_id, key)
);
CREATE TABLE imported_apps (
    app_id TEXT PRIMARY KEY REFERENCES apps (id) ON DELETE CASCADE,
    source TEXT NOT NULL,
    source_name TEXT NOT NULL,
    imported_time BIGINT NOT NULL
);
CREATE TABLE imported_deployments (
    deployment_id TEXT PRIMARY KEY REFERENCES deployments (id) ON DELETE CASCADE,
    source_name TEXT NOT NULL,
    last_label BIGINT NOT NULL,
    counts TEXT,
    imported_time BIGINT NOT NULL
);
CREATE TABLE imported_hashes (
    release_id TEXT PRIMARY KEY REFERENCES releases (id) ON DELETE CASCADE
);
CREATE TABLE imported_packages (
    app_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    package_hash TEXT NOT NULL,
    hash_with_directories TEXT,
    manifest_sha256 TEXT,
    size BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    manifest_stamp BIGINT,
    expires BIGINT NOT NULL,
    PRIMARY KEY (app_id, sha256)
);
CREATE TABLE imported_releases (
    release_id TEXT PRIMARY KEY REFERENCES releases (id) ON DELETE CASCADE,
    told TEXT NOT NULL
);
CREATE TABLE limit_counts (
    name TEXT NOT NULL,
    subject TEXT NOT NULL,
    times TEXT NOT NULL,
    forget_time BIGINT NOT NULL,
    PRIMARY KEY (name, subject)
);
INSERT INTO limit_counts VALUES ('deployments', '01a22036-1ac3-735c-9d79-0aeca75b7684', '[1795836746479,1795836746480,1795836746486,1795836746489,1795836746501,1795836746503]', 1795923146503);
INSERT INTO limit_counts VALUES ('notices', '01a22036-1ac3-735c-9d79-0aeca75b7684 notice/keys_added', '[1795836747602]', 1795840347602);
CREATE TABLE mail_outbox (
    id TEXT PRIMARY KEY,
    sealed BLOB NOT NULL,
    created_time BIGINT NOT NULL,
    next_attempt_time BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT NOT NULL
);
CREATE TABLE metric_counters (
    deployment_id TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    place TEXT NOT NULL,
    active BIGINT NOT NULL,
    downloaded BIGINT NOT NULL,
    installed BIGINT NOT NULL,
    failed BIGINT NOT NULL, first_day BIGINT NOT NULL DEFAULT 0, day BIGINT NOT NULL DEFAULT 0, open_day BIGINT NOT NULL DEFAULT 0, before_active BIGINT NOT NULL DEFAULT 0, before_downloaded BIGINT NOT NULL DEFAULT 0, before_installed BIGINT NOT NULL DEFAULT 0, before_failed BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (deployment_id, epoch, place)
);
INSERT INTO metric_counters VALUES ('01a22036-1aef-7936-b710-99bac97c24cb', 0, 'v1', 0, 0, 1, 0, 20785, 20785, 20785, 1, 0, 1, 0);
INSERT INTO metric_counters VALUES ('01a22036-1aef-7936-b710-99bac97c24cb', 0, 'v2', 1, 0, 1, 1, 20785, 20785, 20785, 1, 0, 1, 0);
INSERT INTO metric_counters VALUES ('01a22036-1aef-7ab1-9feb-94440d0057c6', 0, '1.2.3', 1, 0, 0, 0, 20785, 20785, 20785, 0, 0, 0, 0);
INSERT INTO metric_counters VALUES ('01a22036-1aef-7ab1-9feb-94440d0057c6', 0, 'v1', 1, 0, 1, 0, 20785, 20785, 20785, 0, 0, 0, 0);
CREATE TABLE metric_days (
    deployment_id TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    day BIGINT NOT NULL,
    first_day BIGINT NOT NULL,
    labels TEXT NOT NULL,
    is_closed BOOLEAN NOT NULL, active BIGINT, binaries TEXT,
    PRIMARY KEY (deployment_id, epoch, day)
);
CREATE TABLE metric_minutes (
    deployment_id TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    minute BIGINT NOT NULL,
    place TEXT NOT NULL,
    active BIGINT NOT NULL,
    downloaded BIGINT NOT NULL,
    installed BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, epoch, minute, place)
);
INSERT INTO metric_minutes VALUES ('01a22036-1aef-7936-b710-99bac97c24cb', 0, 1795836720000, 'v1', 0, 0, 1, 0);
INSERT INTO metric_minutes VALUES ('01a22036-1aef-7936-b710-99bac97c24cb', 0, 1795836720000, 'v2', 1, 0, 1, 1);
INSERT INTO metric_minutes VALUES ('01a22036-1aef-7ab1-9feb-94440d0057c6', 0, 1795836720000, '1.2.3', 1, 0, 0, 0);
INSERT INTO metric_minutes VALUES ('01a22036-1aef-7ab1-9feb-94440d0057c6', 0, 1795836720000, 'v1', 1, 0, 1, 0);
CREATE TABLE open_uploads (
    app_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    upload_id TEXT NOT NULL,
    started_time BIGINT NOT NULL,
    PRIMARY KEY (app_id, sha256, upload_id)
);
CREATE TABLE outbox (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    payload BLOB,
    created_time BIGINT NOT NULL,
    next_attempt_time BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT NOT NULL,
    unsettled_until BIGINT NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE TABLE passkey_challenges (
    id TEXT PRIMARY KEY,
    purpose TEXT NOT NULL,
    account_id TEXT REFERENCES accounts (id) ON DELETE CASCADE,
    session_id TEXT REFERENCES access_keys (id) ON DELETE CASCADE,
    pending_login_id TEXT REFERENCES pending_logins (id) ON DELETE CASCADE,
    sealed BLOB NOT NULL,
    expires BIGINT NOT NULL,
    UNIQUE (purpose, session_id),
    UNIQUE (purpose, pending_login_id)
);
CREATE TABLE passkeys (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    credential_id TEXT NOT NULL UNIQUE,
    credential TEXT NOT NULL,
    name TEXT NOT NULL,
    is_backup_eligible BOOLEAN NOT NULL,
    is_backed_up BOOLEAN NOT NULL,
    transports TEXT NOT NULL,
    counter BIGINT NOT NULL,
    created_time BIGINT NOT NULL,
    last_used_time BIGINT NOT NULL
);
CREATE TABLE password_resets (
    token_hash TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires BIGINT NOT NULL
);
CREATE TABLE pending_logins (
    id TEXT PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    attempts BIGINT NOT NULL,
    created_time BIGINT NOT NULL,
    expires BIGINT NOT NULL
, has_device BOOLEAN NOT NULL DEFAULT FALSE);
CREATE TABLE recovery_codes (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    code_hash TEXT NOT NULL,
    PRIMARY KEY (account_id, code_hash)
);
CREATE TABLE recovery_keys (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    sealed BLOB NOT NULL,
    created_time BIGINT NOT NULL
);
CREATE TABLE registrations (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    name TEXT,
    password_hash TEXT NOT NULL,
    created_by TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE,
    token_expires BIGINT NOT NULL,
    created_time BIGINT NOT NULL
, network TEXT NOT NULL DEFAULT '', is_decoy BOOLEAN NOT NULL DEFAULT FALSE);
CREATE TABLE release_diffs (
    release_id TEXT NOT NULL REFERENCES releases (id) ON DELETE CASCADE,
    source_hash TEXT NOT NULL,
    blob_sha256 TEXT NOT NULL,
    size BIGINT NOT NULL,
    PRIMARY KEY (release_id, source_hash)
);
CREATE TABLE releases (
    id TEXT PRIMARY KEY,
    deployment_id TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    app_id TEXT NOT NULL,
    label BIGINT NOT NULL,
    app_version TEXT NOT NULL,
    description TEXT,
    is_mandatory BOOLEAN NOT NULL,
    is_disabled BOOLEAN NOT NULL,
    rollout BIGINT,
    package_hash TEXT NOT NULL,
    blob_sha256 TEXT NOT NULL,
    manifest_sha256 TEXT,
    size BIGINT NOT NULL,
    release_method TEXT NOT NULL,
    original_label BIGINT,
    original_deployment TEXT,
    released_by TEXT NOT NULL,
    upload_time BIGINT NOT NULL, description_bytes BIGINT,
    UNIQUE (deployment_id, label)
);
INSERT INTO releases VALUES ('01a22036-1b41-786c-8ba7-85c90d1fdd3d', '01a22036-1aef-7936-b710-99bac97c24cb', '01a22036-1aef-7b74-a39a-9020b238510b', 1, '1.0.0', 'what is new', 0, 0, NULL, '095488a843177048f0e80bbd914ec4cb54fa8ee44ce1ededd1c0420ca7e3fc65', 'd40c5149927307c8aadccb56ed48b633b8fa51d703654287e5f782414cbd9783', '17ae0ebe5258a2a53278b74679e5c9e12c769c2930ed306b55cc64646697dde3', 155, 'Upload', NULL, NULL, 'ada@example.com', 1795836746561, 13);
INSERT INTO releases VALUES ('01a22036-1b56-7abc-adc1-9f426de41081', '01a22036-1aef-7ab1-9feb-94440d0057c6', '01a22036-1aef-7b74-a39a-9020b238510b', 1, '^1.0.0', NULL, 0, 0, NULL, '095488a843177048f0e80bbd914ec4cb54fa8ee44ce1ededd1c0420ca7e3fc65', 'd40c5149927307c8aadccb56ed48b633b8fa51d703654287e5f782414cbd9783', '17ae0ebe5258a2a53278b74679e5c9e12c769c2930ed306b55cc64646697dde3', 155, 'Upload', NULL, NULL, 'ada@example.com', 1795836746582, 0);
INSERT INTO releases VALUES ('01a22036-1b88-7b9a-916a-ca7f87461f94', '01a22036-1aef-7936-b710-99bac97c24cb', '01a22036-1aef-7b74-a39a-9020b238510b', 2, '>=1.0.0 <3.0.0', 'Zweite Fassung: "größer"', 1, 0, NULL, 'c3948e4b4469a63601349ef0893a9b25ea61c1814a0ff11beceb0f36dd8b6972', 'd2809ac1eaee540d76cf67916fe15453d4e653d6ea2d0790c29e0582fbc965f7', '7edd89fdfda417384adfbaeb7ad089480c7d92286024c0e686aa4fa8591c617f', 150, 'Upload', NULL, NULL, 'ada@example.com', 1795836746632, 30);
INSERT INTO releases VALUES ('01a22036-1bb0-757f-b97e-1c4562861024', '01a22036-1aef-7936-b710-99bac97c24cb', '01a22036-1aef-7b74-a39a-9020b238510b', 3, '*', NULL, 0, 1, NULL, 'db4f3679ae68108751fa13749da217e78a5ec3fe6c09def2ab7165b1b684b822', '9c1dde70b77e27d13d48284bdaa19430759c1d68d950c9960346f9a50f0d10e1', 'd797cd4a3bebe3da9f35f4a979b093bec8dff68ae9f067b8efd9e883f24f83cf', 149, 'Upload', NULL, NULL, 'ada@example.com', 1795836746672, 0);
INSERT INTO releases VALUES ('01a22036-1bd6-7696-a8aa-c0883b800a90', '01a22036-1aef-7936-b710-99bac97c24cb', '01a22036-1aef-7b74-a39a-9020b238510b', 4, '*', NULL, 0, 0, NULL, '72a4afc24ce57326ac40316549707158efe1a6e09125ac05fb30704f1631fa90', 'a0724d15f9e16f75bb065ed93fe877123d4bba25377babff113967f377cb718c', 'd966a659d05a99be01e11cf8438b90776be487177ff7b2345f3b31e0f0857ef1', 150, 'Upload', NULL, NULL, 'ada@example.com', 1795836746710, 0);
INSERT INTO releases VALUES ('01a22036-1bdb-787c-9c85-932c35b93abf', '01a22036-1aef-7936-b710-99bac97c24cb', '01a22036-1aef-7b74-a39a-9020b238510b', 5, '*', NULL, 0, 0, NULL, 'db4f3679ae68108751fa13749da217e78a5ec3fe6c09def2ab7165b1b684b822', '9c1dde70b77e27d13d48284bdaa19430759c1d68d950c9960346f9a50f0d10e1', 'd797cd4a3bebe3da9f35f4a979b093bec8dff68ae9f067b8efd9e883f24f83cf', 149, 'Rollback', 3, NULL, 'ada@example.com', 1795836746715, 0);
INSERT INTO releases VALUES ('01a22036-1be1-7413-a1f3-7bf72f2c7c60', '01a22036-1aef-7ab1-9feb-94440d0057c6', '01a22036-1aef-7b74-a39a-9020b238510b', 2, '*', NULL, 0, 0, 25, 'db4f3679ae68108751fa13749da217e78a5ec3fe6c09def2ab7165b1b684b822', '9c1dde70b77e27d13d48284bdaa19430759c1d68d950c9960346f9a50f0d10e1', 'd797cd4a3bebe3da9f35f4a979b093bec8dff68ae9f067b8efd9e883f24f83cf', 149, 'Promote', 5, 'Production', 'ada@example.com', 1795836746721, 0);
CREATE TABLE report_clients (
    app_id TEXT NOT NULL,
    client BLOB NOT NULL,
    deployment_id TEXT,
    epoch BIGINT NOT NULL,
    place TEXT,
    place_time BIGINT NOT NULL,
    place_report TEXT NOT NULL,
    flags TEXT NOT NULL, binary_version TEXT,
    PRIMARY KEY (app_id, client)
);
INSERT INTO report_clients VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', X'16367AACB67A4A017C8DA8AB95682CCB', NULL, 0, NULL, 0, '', '{"01a22036-1aef-7936-b710-99bac97c24cb":{"e":0,"l":{"2":4}}}', NULL);
INSERT INTO report_clients VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', X'A7937B64B8CAA58F03721BB6BACF5C78', '01a22036-1aef-7936-b710-99bac97c24cb', 0, 'v2', 1795836746727, '01a22036-1be7-7bd9-ac9f-cb5ce481d993', '{"01a22036-1aef-7936-b710-99bac97c24cb":{"e":0,"l":{"1":2,"2":2}}}', NULL);
INSERT INTO report_clients VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', X'B1E99324505BD32DA0E1F85DCF5E19A0', '01a22036-1aef-7ab1-9feb-94440d0057c6', 0, 'v1', 1795836746731, '01a22036-1beb-7c03-9559-d5f267b46671', '{"01a22036-1aef-7ab1-9feb-94440d0057c6":{"e":0,"l":{"1":2}}}', NULL);
INSERT INTO report_clients VALUES ('01a22036-1aef-7b74-a39a-9020b238510b', X'DC81B1D371A4072BE7FCFC3E1939F5BD', '01a22036-1aef-7ab1-9feb-94440d0057c6', 0, '1.2.3', 1795836746732, '01a22036-1bec-7aaf-8aec-fa66d1d286e6', '{}', NULL);
CREATE TABLE report_ids (
    id TEXT PRIMARY KEY,
    received_time BIGINT NOT NULL
);
CREATE TABLE secret_checks (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT INTO secret_checks VALUES ('encryption_key/t1', '3f50ce7a2028cb0f4e8bf5adc5b5cb02ca3c5d6a161e984908a8ba58ed4b50f6');
CREATE TABLE sign_in_networks (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    network TEXT NOT NULL,
    last_time BIGINT NOT NULL,
    PRIMARY KEY (account_id, network)
);
INSERT INTO sign_in_networks VALUES ('01a22036-1ac3-735c-9d79-0aeca75b7684', '127.0.0.0/24', 1795836746475);
CREATE TABLE snapshot_outbox (
    deployment_key TEXT PRIMARY KEY REFERENCES deployment_keys (deployment_key),
    created_time BIGINT NOT NULL,
    next_attempt_time BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT NOT NULL,
    unsettled_until BIGINT NOT NULL
);
CREATE TABLE tallies (
    kind TEXT NOT NULL,
    account_id TEXT NOT NULL,
    since BIGINT NOT NULL,
    count BIGINT NOT NULL,
    due BIGINT NOT NULL,
    PRIMARY KEY (kind, account_id)
);
CREATE TABLE used_names (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    app_id TEXT NOT NULL,
    PRIMARY KEY (account_id, name, app_id)
);
INSERT INTO used_names VALUES ('01a22036-1ac3-735c-9d79-0aeca75b7684', 'app', '01a22036-1aef-7b74-a39a-9020b238510b');
INSERT INTO used_names VALUES ('01a22036-1ac3-735c-9d79-0aeca75b7684', 'reports', '01a22036-1af6-798a-be53-4608de716e0c');
CREATE INDEX access_keys_by_expiry ON access_keys (expires);
CREATE INDEX api_keys_by_account ON api_keys (account_id, created_time);
CREATE INDEX audit_events_by_app ON audit_events (app_id, seq);
CREATE INDEX audit_events_by_object ON audit_events (object_id, seq);
CREATE INDEX authenticator_setups_by_expiry ON authenticator_setups (expires);
CREATE INDEX awaited_collaborators_by_email ON awaited_collaborators (email);
CREATE INDEX blobs_by_account ON blobs (account_id, size);
CREATE INDEX cli_authorizations_by_account ON cli_authorizations (account_id);
CREATE INDEX cli_authorizations_by_expiry ON cli_authorizations (expires);
CREATE INDEX collaborators_by_account ON collaborators (account_id);
CREATE INDEX deployment_keys_by_app ON deployment_keys (app_id);
CREATE INDEX deployment_keys_kept ON deployment_keys (account_id) WHERE (deployment_id IS NULL);
CREATE INDEX deployments_unmeasured ON deployments (id) WHERE (snapshot_bytes IS NULL);
CREATE INDEX device_cookies_by_account ON device_cookies (account_id, created_time);
CREATE INDEX device_cookies_by_time ON device_cookies (created_time);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (expires);
CREATE INDEX imported_packages_by_expires ON imported_packages (expires);
CREATE INDEX limit_counts_by_time ON limit_counts (forget_time);
CREATE INDEX mail_outbox_due ON mail_outbox (next_attempt_time);
CREATE INDEX metric_days_by_active ON metric_days (deployment_id, epoch, day, active);
CREATE INDEX metric_minutes_by_time ON metric_minutes (minute);
CREATE INDEX open_uploads_by_started_time ON open_uploads (started_time);
CREATE INDEX outbox_due ON outbox (kind, next_attempt_time);
CREATE INDEX passkey_challenges_by_account ON passkey_challenges (account_id);
CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires);
CREATE INDEX passkeys_by_account ON passkeys (account_id, created_time);
CREATE INDEX password_resets_by_account ON password_resets (account_id);
CREATE INDEX password_resets_by_expiry ON password_resets (expires);
CREATE INDEX pending_logins_by_account ON pending_logins (account_id, created_time);
CREATE INDEX pending_logins_by_expiry ON pending_logins (expires);
CREATE INDEX registrations_by_email ON registrations (email, created_time);
CREATE INDEX registrations_by_time ON registrations (created_time);
CREATE INDEX releases_by_blob ON releases (app_id, blob_sha256);
CREATE INDEX releases_by_manifest ON releases (app_id, manifest_sha256);
CREATE INDEX releases_in_short ON releases (deployment_id, label, app_version, package_hash, is_disabled, rollout, is_mandatory, blob_sha256, size, description_bytes, id);
CREATE INDEX report_clients_by_version ON report_clients (deployment_id, epoch, binary_version, client) WHERE (binary_version IS NOT NULL);
CREATE INDEX report_ids_by_time ON report_ids (received_time);
CREATE INDEX sign_in_networks_by_time ON sign_in_networks (last_time);
CREATE INDEX snapshot_outbox_due ON snapshot_outbox (next_attempt_time);
CREATE INDEX tallies_by_due ON tallies (due);

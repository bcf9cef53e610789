"""Logins to a server."""

import quiver
from both import Remote, command


class Users(Remote):
    @classmethod
    def prepare(cls):
        cls.token = command("--store", cls.store, "user", "token", "ann", "--expires", "1d").strip()
        command("--store", cls.store, "-c", "CREATE USER bob PASSWORD 'bob''s own'", "-c", "CREATE TABLE hers (a BIGINT)")

    def test_a_wrong_password_and_no_password_are_refused(self):
        ca = self.login["tls_ca"]
        for login in ({"user": "ann", "password": "wrong"}, {"user": "nobody", "password": "x"}, {"token": "nonsense"}, {}):
            with self.subTest(login), self.assertRaises(quiver.OperationalError):
                quiver.connect(self.place, tls_ca=ca, **login)

    def test_a_token_connects(self):
        with quiver.connect(self.place, token=self.token, tls_ca=self.login["tls_ca"]) as con:
            self.assertEqual(con.sql("SELECT count(*) FROM hers").fetchall(), [(0,)])
            con.sql("SET batch_size = 512")
            self.assertEqual(con.sql("SHOW batch_size").fetchall(), [("batch_size", "512")])

    def test_what_a_user_may_not_read_is_not_there(self):
        with quiver.connect(self.place, user="bob", password="bob's own", tls_ca=self.login["tls_ca"]) as con:
            self.assertEqual(con.tables(), [])
            with self.assertRaisesRegex(quiver.ProgrammingError, "does not exist"):
                con.table("hers")
            with self.assertRaisesRegex(quiver.ProgrammingError, "CREATE"):
                con.write("his", {"a": [1]})

    def test_a_user_has_a_transaction_in_sql(self):
        with quiver.connect(self.place, user="bob", password="bob's own", tls_ca=self.login["tls_ca"]) as con:
            con.sql("BEGIN")
            self.assertTrue(con.in_transaction)
            con.sql("ROLLBACK")
            self.assertFalse(con.in_transaction)

    def test_a_server_that_is_not_trusted_is_refused(self):
        for login in ({"user": "ann", "password": "x"}, {"token": "x"}, {}):
            with self.assertRaisesRegex(quiver.OperationalError, "certificate.*tls_ca="):
                quiver.connect(self.place, **login)
            with self.assertRaisesRegex(quiver.OperationalError, r"a server with TLS is reached by grpc\+tls://"):
                quiver.connect(self.place.replace("grpc+tls", "grpc"), **login)

    def test_a_user_and_a_token_are_one_too_many(self):
        with self.assertRaisesRegex(quiver.ProgrammingError, "one of them"):
            quiver.connect(self.place, user="ann", token="x")

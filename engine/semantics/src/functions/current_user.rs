//! `current_user`, with or without parentheses: the user of the session. PostgreSQL's alias `user` is missing, because a function wins
//! over a column of the same name, and many tables have a column `user`.

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

#[derive(Debug, PartialEq, Eq, Hash)]
struct CurrentUser {
    /// `None` if nobody has logged in.
    user: Option<String>,
    signature: Signature,
    aliases: [String; 1],
}

/// The function of one session.
pub fn current_user(user: Option<&str>) -> ScalarUDF {
    ScalarUDF::from(CurrentUser {
        user: user.map(str::to_string),
        signature: Signature::nullary(Volatility::Stable),
        aliases: ["session_user".to_string()],
    })
}

impl CurrentUser {
    fn value(&self) -> ScalarValue {
        ScalarValue::Utf8View(self.user.clone())
    }
}

impl ScalarUDFImpl for CurrentUser {
    fn name(&self) -> &str {
        "current_user"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    /// Becomes a literal, so that another node, which has its own users, never evaluates it.
    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        match args.is_empty() {
            true => Ok(ExprSimplifyResult::Simplified(Expr::Literal(self.value(), None))),
            false => internal_err!("current_user takes no arguments"),
        }
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(self.value()))
    }
}

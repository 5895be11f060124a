/// Adds two numbers.
pub fn add(a: i64, b: i64) -> i64 {
    a + b
}
///The tool `add`; [`add::tool`] returns it.
#[allow(non_camel_case_types, dead_code, clippy::empty_structs_with_brackets)]
#[allow(missing_debug_implementations, missing_copy_implementations)]
pub struct add {}
#[automatically_derived]
impl add {
    /// The name that the model calls the tool by.
    #[allow(dead_code)]
    pub const NAME: &'static str = "add";
    #[doc(hidden)]
    #[allow(dead_code)]
    pub const ORIGIN: &'static str = ::core::concat!(
        ::core::file!(), ":", ::core::line!()
    );
    /// Returns the tool.
    #[must_use]
    pub fn tool() -> ::toolbox::Tool {
        #[allow(unused_imports)]
        use ::toolbox::__private::{self, names::*};
        __private::make_sync(
            __private::Meta {
                name: Self::NAME,
                description: "Adds two numbers.",
                ..__private::Meta::DEFAULT
            },
            (&&&&__private::returned::<i64>().success()).schema(),
            |__call| {
                let mut __slot0 = (<i64 as __Owned<'_, _>>::slot(),);
                let mut __slot1 = (<i64 as __Owned<'_, _>>::slot(),);
                let __describe = |__signature: &mut __private::SignatureBuilder| {
                    __signature.argument("a", "");
                    __signature.argument("b", "");
                };
                if let ::core::result::Result::Err(__refusal) = __call
                    .read(&mut [&mut __slot0.0, &mut __slot1.0], &__describe)
                {
                    return __refusal;
                }
                let __output = add(__slot0.0.take(), __slot1.0.take());
                match __private::Returned(__output).split() {
                    ::core::result::Result::Ok(__value) => {
                        let __convert = <__It<_> as __Output<_>>::finish;
                        __convert((&&&&__private::kind_of(&__value)).kind(), __value)
                    }
                    ::core::result::Result::Err(__value) => {
                        let __convert = <__It<_> as __Failure<_>>::fail;
                        __convert((&&&__private::kind_of(&__value)).error(), __value)
                    }
                }
            },
        )
    }
}

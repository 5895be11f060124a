/// Adds two numbers.
pub fn add(a: i64, b: i64) -> i64 {
    a + b
}
///The tool `add`; [`add::tool`] returns it.
#[allow(
    non_camel_case_types,
    dead_code,
    missing_debug_implementations,
    missing_copy_implementations,
    clippy::empty_structs_with_brackets
)]
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
        use ::toolbox::__private::names::*;
        ::toolbox::__private::make_sync(
            ::toolbox::__private::Meta {
                name: Self::NAME,
                description: "Adds two numbers.",
                file: ::core::file!(),
                line: ::core::line!(),
                ..::toolbox::__private::Meta::DEFAULT
            },
            (&&&::toolbox::__private::KindOf::<
                ::toolbox::__private::Returned<i64>,
            >::new()
                .success())
                .schema(),
            |__call| {
                let mut __slot0 = (<i64 as __Owned<'_, _>>::slot(),);
                let mut __slot1 = (<i64 as __Owned<'_, _>>::slot(),);
                if let ::core::result::Result::Err(__refusal) = __call
                    .read(
                        &mut [&mut __slot0.0, &mut __slot1.0],
                        &|__signature| {
                            __signature.argument("a", "");
                            __signature.argument("b", "");
                        },
                    )
                {
                    return __refusal;
                }
                match ::toolbox::__private::Returned(
                        add(__slot0.0.take(), __slot1.0.take()),
                    )
                    .split()
                {
                    ::core::result::Result::Ok(__value) => {
                        let __convert = <__It<_> as __Output<_>>::finish;
                        __convert(
                            (&&&::toolbox::__private::kind_of(&__value)).kind(),
                            __value,
                        )
                    }
                    ::core::result::Result::Err(__error) => {
                        let __convert = <__It<_> as __Failure<_>>::fail;
                        __convert(
                            (&&&::toolbox::__private::kind_of(&__error)).error_kind(),
                            __error,
                        )
                    }
                }
            },
        )
    }
}

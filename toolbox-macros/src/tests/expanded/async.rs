/// Searches the documentation.
async fn search(query: &str, context: &ToolContext) -> Result<Vec<Hit>, SearchError> {
    todo!()
}
///The tool `search`; [`search::tool`] returns it.
#[allow(
    non_camel_case_types,
    dead_code,
    missing_debug_implementations,
    missing_copy_implementations,
    clippy::empty_structs_with_brackets
)]
struct search {}
#[automatically_derived]
impl search {
    /// The name that the model calls the tool by.
    #[allow(dead_code)]
    const NAME: &'static str = "search";
    #[doc(hidden)]
    #[allow(dead_code)]
    const ORIGIN: &'static str = ::core::concat!(::core::file!(), ":", ::core::line!());
    /// Returns the tool.
    #[must_use]
    fn tool() -> ::toolbox::Tool {
        #[allow(unused_imports)]
        use ::toolbox::__private::names::*;
        ::toolbox::__private::make_async(
            ::toolbox::__private::Meta {
                name: Self::NAME,
                description: "Searches the documentation.",
                file: ::core::file!(),
                line: ::core::line!(),
                timeout: ::core::option::Option::Some(
                    ::core::time::Duration::from_millis(30000u64),
                ),
                annotations: [
                    ::core::option::Option::Some(true),
                    ::core::option::Option::None,
                    ::core::option::Option::None,
                    ::core::option::Option::None,
                ],
                ..::toolbox::__private::Meta::DEFAULT
            },
            (&&&::toolbox::__private::KindOf::<
                ::toolbox::__private::Returned<Result<Vec<Hit>, SearchError>>,
            >::new()
                .success())
                .schema(),
            |__call| {
                __must_be_send(async move {
                    let mut __slot0 = (<str as __Lent<'_, _>>::slot(),);
                    let mut __slot1 = (<ToolContext as __Lent<'_, _>>::slot(),);
                    if let ::core::result::Result::Err(__refusal) = __call
                        .read(
                            &mut [&mut __slot0.0, &mut __slot1.0],
                            &|__signature| {
                                __signature.argument("query", "");
                                __signature.argument("context", "");
                                __signature
                                    .example(
                                        &[
                                            (
                                                "query",
                                                {
                                                    let __value: fn() -> &'static str = || "macros";
                                                    <__It<_> as __Example>::example(&__value())
                                                },
                                            ),
                                        ],
                                    );
                            },
                        )
                    {
                        return __refusal;
                    }
                    match ::toolbox::__private::Returned(
                            search(__slot0.0.take(), __slot1.0.take()).await,
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
                })
            },
        )
    }
}

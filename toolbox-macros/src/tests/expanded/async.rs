/// Searches the documentation.
async fn search(query: &str, context: &ToolContext) -> Result<Vec<Hit>, SearchError> {
    todo!()
}
///The tool `search`; [`search::tool`] returns it.
#[allow(non_camel_case_types, dead_code, clippy::empty_structs_with_brackets)]
#[allow(missing_debug_implementations, missing_copy_implementations)]
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
        use ::toolbox::__private::{self, names::*};
        __private::make_async(
            __private::Meta {
                name: Self::NAME,
                description: "Searches the documentation.",
                timeout: ::core::option::Option::Some(
                    ::core::time::Duration::from_millis(30000u64),
                ),
                annotations: [
                    ::core::option::Option::Some(true),
                    ::core::option::Option::None,
                    ::core::option::Option::None,
                    ::core::option::Option::None,
                ],
                ..__private::Meta::DEFAULT
            },
            (&&&&__private::returned::<Result<Vec<Hit>, SearchError>>().success())
                .schema(),
            |__call| {
                __must_be_send(async move {
                    let mut __slot0 = (<str as __Lent<'_, _>>::slot(),);
                    let mut __slot1 = (<ToolContext as __Lent<'_, _>>::slot(),);
                    let __describe = |__signature: &mut __private::SignatureBuilder| {
                        __signature.argument("query", "");
                        __signature.argument("context", "");
                        __signature
                            .example(
                                &[
                                    (
                                        "query",
                                        {
                                            let __value: fn() -> &'static str = || {
                                                (&&&__private::KindOf::<&'static str>::new())
                                                    .of_text("macros")
                                            };
                                            <__It<_> as __Example>::example(&__value())
                                        },
                                    ),
                                ],
                            );
                    };
                    if let ::core::result::Result::Err(__refusal) = __call
                        .read(&mut [&mut __slot0.0, &mut __slot1.0], &__describe)
                    {
                        return __refusal;
                    }
                    let __output = search(__slot0.0.take(), __slot1.0.take()).await;
                    match __private::Returned(__output).side() {
                        __private::Side::Whole(__value) => {
                            let __convert = <__It<_> as __Output<_>>::finish;
                            __convert((&&&&__private::kind_of(&__value)).kind(), __value)
                        }
                        __private::Side::Success(__value) => {
                            let __convert = <__It<_> as __Output<_>>::finish;
                            __convert((&&&&__private::kind_of(&__value)).kind(), __value)
                        }
                        __private::Side::Failure(__value) => {
                            let __convert = <__It<_> as __Failure<_>>::fail;
                            __convert((&&&__private::kind_of(&__value)).error(), __value)
                        }
                    }
                })
            },
        )
    }
}

#[cfg(docs)]
#[doc = include_str!("search.md")]
fn search(limit: u32, language: &str, #[cfg(filters)] filter: Filter) {}
#[cfg(docs)]
///The tool `search_docs`; [`SearchTool::tool`] returns it.
#[allow(non_camel_case_types, dead_code, clippy::empty_structs_with_brackets)]
#[allow(missing_debug_implementations, missing_copy_implementations)]
struct SearchTool {}
#[cfg(docs)]
#[automatically_derived]
impl SearchTool {
    /// The name that the model calls the tool by.
    #[allow(dead_code)]
    const NAME: &'static str = "search_docs";
    #[doc(hidden)]
    #[allow(dead_code)]
    const ORIGIN: &'static str = ::core::concat!(::core::file!(), ":", ::core::line!());
    /// Returns the tool.
    #[must_use]
    fn tool() -> renamed::Tool {
        #[allow(unused_imports)]
        use renamed::__private::{self, names::*};
        __private::make_sync(
            __private::Meta {
                name: Self::NAME,
                description: ::core::concat!(include_str!("search.md"), "\n"),
                untidy: true,
                ..__private::Meta::DEFAULT
            },
            (&&&&__private::returned::<()>().success()).schema(),
            |__call| {
                let __default0: fn() -> u32 = || 10;
                let mut __slot0 = (<u32 as __Owned<'_, _>>::slot().or(__default0),);
                let __default1: fn() -> &'static str = || ::core::default::Default::default();
                let mut __slot1 = (
                    <__It<
                        _,
                    > as __Lent<'_, _>>::or(<str as __Lent<'_, _>>::slot(), __default1),
                );
                #[cfg(filters)]
                let mut __slot2 = (<Filter as __Owned<'_, _>>::slot(),);
                let __describe = |__signature: &mut __private::SignatureBuilder| {
                    __signature
                        .argument("limit", "How many hits to return")
                        .default(
                            (&&__private::kind_of(&__default0())).json(&__default0()),
                        )
                        .keyword("minimum", 1i64)
                        .keyword("maximum", <__It<_> as __End>::number(MOST));
                    __signature
                        .argument("lang", "")
                        .default(
                            (&&__private::kind_of(&__default1())).json(&__default1()),
                        )
                        .length(
                            ::core::option::Option::Some(1),
                            ::core::option::Option::Some((9) - 1),
                        )
                        .examples(
                            ::std::vec![
                                { let __value : fn () -> & 'static str = || (&& &
                                __private::KindOf:: < & 'static str > ::new())
                                .of_text("en"); < __It < _ > as __Example > ::example(&
                                __value()) }
                            ],
                        );
                    #[cfg(filters)] __signature.argument("filter", "").flatten();
                };
                if let ::core::result::Result::Err(__refusal) = __call
                    .read(
                        &mut [
                            &mut __slot0.0,
                            &mut __slot1.0,
                            #[cfg(filters)]
                            &mut __slot2.0,
                        ],
                        &__describe,
                    )
                {
                    return __refusal;
                }
                let __output = search(
                    __slot0.0.take_described(),
                    __slot1.0.take_described(),
                    #[cfg(filters)]
                    __slot2.0.take_described(),
                );
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

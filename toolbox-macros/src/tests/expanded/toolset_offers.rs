impl Library {
    /// Asks for a review.
    fn review(&self, title: &str) -> String {
        title.to_owned()
    }
    /// The catalog.
    #[cfg(catalog)]
    async fn catalog(self: Arc<Self>) -> String {
        String::new()
    }
}
const _: () = ();
#[automatically_derived]
impl ::toolbox::tool::Toolset for Library {
    #[allow(deprecated, clippy::vec_init_then_push)]
    fn tools(self: ::std::sync::Arc<Self>) -> ::std::vec::Vec<::toolbox::Tool> {
        ::std::vec::Vec::new()
    }
    #[allow(deprecated)]
    fn offers(self: ::std::sync::Arc<Self>) -> ::toolbox::__private::SetOffers {
        let __set = self;
        let mut __all = <::toolbox::__private::SetOffers as ::core::default::Default>::default();
        ::toolbox::__private::add_prompt(
            &mut __all,
            ::toolbox::__private::make_prompt(
                {
                    #[allow(unused_imports)]
                    use ::toolbox::__private::{self, names::*};
                    __private::make_sync_of(
                        __private::Meta {
                            name: "review",
                            description: "Asks for a review.",
                            ..__private::Meta::DEFAULT
                        },
                        ::core::option::Option::None,
                        &__set,
                        |__this, __call| {
                            let mut __slot0 = (<str as __Lent<'_, _>>::slot(),);
                            let __describe = |
                                __signature: &mut __private::SignatureBuilder|
                            {
                                __signature.argument("title", "");
                            };
                            if let ::core::result::Result::Err(__refusal) = __call
                                .read(&mut [&mut __slot0.0], &__describe)
                            {
                                return __refusal;
                            }
                            let __output = Self::review(
                                __this,
                                __slot0.0.take_described(),
                            );
                            match __private::Returned(__output).split() {
                                ::core::result::Result::Ok(__value) => {
                                    let __convert = <__It<_> as __Prompt>::finish;
                                    __convert(__value)
                                }
                                ::core::result::Result::Err(__value) => {
                                    let __convert = <__It<_> as __Failure<_>>::fail;
                                    __convert(
                                        (&&&__private::kind_of(&__value)).error(),
                                        __value,
                                    )
                                }
                            }
                        },
                    )
                },
                ::std::vec![
                    ("title", ::toolbox::__private::completer_of(& __set, Self::titles))
                ],
            ),
        );
        #[cfg(catalog)]
        ::toolbox::__private::add_resource(
            &mut __all,
            ::toolbox::__private::make_resource(
                "books://all",
                ::core::option::Option::Some("text/plain"),
                {
                    #[allow(unused_imports)]
                    use ::toolbox::__private::{self, names::*};
                    __private::make_async_of(
                        __private::Meta {
                            name: "catalog",
                            description: "The catalog.",
                            ..__private::Meta::DEFAULT
                        },
                        ::core::option::Option::None,
                        &__set,
                        |__this, __call| {
                            __must_be_send(async move {
                                let __describe = |
                                    __signature: &mut __private::SignatureBuilder|
                                {};
                                if let ::core::result::Result::Err(__refusal) = __call
                                    .read(&mut [], &__describe)
                                {
                                    return __refusal;
                                }
                                let __output = Self::catalog(
                                        <__It<_> as __Receiver<'_, _>>::receive(&__this),
                                    )
                                    .await;
                                match __private::Returned(__output).split() {
                                    ::core::result::Result::Ok(__value) => {
                                        let __convert = <__It<_> as __Resource>::finish;
                                        __convert(__value)
                                    }
                                    ::core::result::Result::Err(__value) => {
                                        let __convert = <__It<_> as __Failure<_>>::fail;
                                        __convert(
                                            (&&&__private::kind_of(&__value)).error(),
                                            __value,
                                        )
                                    }
                                }
                            })
                        },
                    )
                },
                ::std::vec![],
            ),
        );
        __all
    }
}

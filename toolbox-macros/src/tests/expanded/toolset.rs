impl<T: Token> Github<T> {
    /// Lists the issues.
    async fn issues(&self) -> String {
        String::new()
    }
    #[cfg(version)]
    /// Tells the version.
    fn version() -> &'static str {
        "3"
    }
    fn helper(&self) {}
}
const _: () = ();
#[automatically_derived]
impl<T: Token> ::toolbox::tool::Toolset for Github<T> {
    #[allow(deprecated, clippy::vec_init_then_push)]
    fn tools(self: ::std::sync::Arc<Self>) -> ::std::vec::Vec<::toolbox::Tool> {
        let __set = self;
        let mut __tools = ::std::vec::Vec::new();
        __tools
            .push({
                #[allow(unused_imports)]
                use ::toolbox::__private::names::*;
                ::toolbox::__private::make_async_of(
                    ::toolbox::__private::Meta {
                        name: "issues",
                        description: "Lists the issues.",
                        file: ::core::file!(),
                        line: ::core::line!(),
                        ..::toolbox::__private::Meta::DEFAULT
                    },
                    (&&&::toolbox::__private::KindOf::<
                        ::toolbox::__private::Returned<String>,
                    >::new()
                        .success())
                        .schema(),
                    &__set,
                    |__this, __call| {
                        __must_be_send(async move {
                            if let ::core::result::Result::Err(__refusal) = __call
                                .read(&mut [], &|__signature| {})
                            {
                                return __refusal;
                            }
                            match ::toolbox::__private::Returned(
                                    Self::issues(&__this).await,
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
            });
        #[cfg(version)]
        __tools
            .push({
                #[allow(unused_imports)]
                use ::toolbox::__private::names::*;
                ::toolbox::__private::make_sync(
                    ::toolbox::__private::Meta {
                        name: "github_version",
                        description: "Tells the version.",
                        file: ::core::file!(),
                        line: ::core::line!(),
                        ..::toolbox::__private::Meta::DEFAULT
                    },
                    (&&&::toolbox::__private::KindOf::<
                        ::toolbox::__private::Returned<&'static str>,
                    >::new()
                        .success())
                        .schema(),
                    |__call| {
                        if let ::core::result::Result::Err(__refusal) = __call
                            .read(&mut [], &|__signature| {})
                        {
                            return __refusal;
                        }
                        match ::toolbox::__private::Returned(Self::version()).split() {
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
            });
        __tools
    }
}

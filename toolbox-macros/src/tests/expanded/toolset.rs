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
        let mut __all = ::std::vec::Vec::new();
        __all
            .push({
                #[allow(unused_imports)]
                use ::toolbox::__private::{self, names::*};
                __private::make_async_of(
                    __private::Meta {
                        name: "issues",
                        description: "Lists the issues.",
                        ..__private::Meta::DEFAULT
                    },
                    (&&&&__private::returned::<String>().success()).schema(),
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
                            let __output = Self::issues(&__this).await;
                            match __private::Returned(__output).split() {
                                ::core::result::Result::Ok(__value) => {
                                    let __convert = <__It<_> as __Output<_>>::finish;
                                    __convert(
                                        (&&&&__private::kind_of(&__value)).kind(),
                                        __value,
                                    )
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
            });
        #[cfg(version)]
        __all
            .push({
                #[allow(unused_imports)]
                use ::toolbox::__private::{self, names::*};
                __private::make_sync(
                    __private::Meta {
                        name: "github_version",
                        description: "Tells the version.",
                        ..__private::Meta::DEFAULT
                    },
                    (&&&&__private::returned::<&'static str>().success()).schema(),
                    |__call| {
                        let __describe = |__signature: &mut __private::SignatureBuilder| {};
                        if let ::core::result::Result::Err(__refusal) = __call
                            .read(&mut [], &__describe)
                        {
                            return __refusal;
                        }
                        let __output = Self::version();
                        match __private::Returned(__output).split() {
                            ::core::result::Result::Ok(__value) => {
                                let __convert = <__It<_> as __Output<_>>::finish;
                                __convert(
                                    (&&&&__private::kind_of(&__value)).kind(),
                                    __value,
                                )
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
            });
        __all
    }
}

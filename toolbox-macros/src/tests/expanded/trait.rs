trait Storage: Debug + ::core::marker::Send + ::core::marker::Sync + 'static {
    /// Reads a text.
    fn read<'__call>(
        &'__call self,
        key: &'__call str,
    ) -> ::toolbox::__private::BoxFuture<'__call, String>;
    /// Counts the texts.
    #[cfg(counts)]
    fn count(&self) -> usize {
        0
    }
    fn helper(&self);
    #[doc(hidden)]
    fn toolset_stands_above_the_trait(&self) {}
    #[doc(hidden)]
    fn read_is_a_tool_of_the_trait(&self, tool: ::toolbox::Tool) -> ::toolbox::Tool {
        tool
    }
    #[cfg(counts)]
    #[doc(hidden)]
    fn count_is_a_tool_of_the_trait(&self, tool: ::toolbox::Tool) -> ::toolbox::Tool {
        tool
    }
    #[doc(hidden)]
    #[allow(deprecated, unused_doc_comments)]
    fn set_of_a_trait_with_toolset(
        self: ::std::sync::Arc<Self>,
    ) -> ::toolbox::__private::TraitSet {
        let __set = self;
        let mut __all = <::toolbox::__private::TraitSet as ::core::default::Default>::default();
        __all
            .tools
            .push(
                <Self as Storage>::read_is_a_tool_of_the_trait(
                    &__set,
                    {
                        #[allow(unused_imports)]
                        use ::toolbox::__private::{self, names::*};
                        __private::make_async_of_trait(
                            __private::Meta {
                                name: "storage_read",
                                description: "Reads a text.",
                                ..__private::Meta::DEFAULT
                            },
                            (&&&&__private::returned::<String>().success()).schema(),
                            &__set,
                            |__this, __call| {
                                __must_be_send(async move {
                                    let mut __slot0 = (<str as __Lent<'_, _>>::slot(),);
                                    let __describe = |
                                        __signature: &mut __private::SignatureBuilder|
                                    {
                                        __signature.argument("key", "");
                                    };
                                    if let ::core::result::Result::Err(__refusal) = __call
                                        .read(&mut [&mut __slot0.0], &__describe)
                                    {
                                        return __refusal;
                                    }
                                    let __output = <Self as Storage>::read(
                                            &__this,
                                            __slot0.0.take(),
                                        )
                                        .await;
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
                    },
                ),
            );
        #[cfg(counts)]
        __all
            .tools
            .push(
                <Self as Storage>::count_is_a_tool_of_the_trait(
                    &__set,
                    {
                        #[allow(unused_imports)]
                        use ::toolbox::__private::{self, names::*};
                        __private::make_sync_of_trait(
                            __private::Meta {
                                name: "storage_count",
                                description: "Counts the texts.",
                                ..__private::Meta::DEFAULT
                            },
                            (&&&&__private::returned::<usize>().success()).schema(),
                            &__set,
                            |__this, __call| {
                                let __describe = |
                                    __signature: &mut __private::SignatureBuilder|
                                {};
                                if let ::core::result::Result::Err(__refusal) = __call
                                    .read(&mut [], &__describe)
                                {
                                    return __refusal;
                                }
                                let __output = <Self as Storage>::count(__this);
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
                    },
                ),
            );
        __all
    }
}
#[automatically_derived]
impl ::toolbox::tool::Toolset for dyn Storage {
    fn tools(self: ::std::sync::Arc<Self>) -> ::std::vec::Vec<::toolbox::Tool> {
        <Self as Storage>::set_of_a_trait_with_toolset(self).tools
    }
    fn offers(self: ::std::sync::Arc<Self>) -> ::toolbox::__private::SetOffers {
        <Self as Storage>::set_of_a_trait_with_toolset(self).offers
    }
}
#[automatically_derived]
impl ::toolbox::tool::Toolset
for dyn Storage + ::core::marker::Send + ::core::marker::Sync {
    fn tools(self: ::std::sync::Arc<Self>) -> ::std::vec::Vec<::toolbox::Tool> {
        <Self as Storage>::set_of_a_trait_with_toolset(self).tools
    }
    fn offers(self: ::std::sync::Arc<Self>) -> ::toolbox::__private::SetOffers {
        <Self as Storage>::set_of_a_trait_with_toolset(self).offers
    }
}
impl Storage for Disk {
    /// Reads a file.
    fn read<'__call>(
        &'__call self,
        key: &'__call str,
    ) -> ::toolbox::__private::BoxFuture<'__call, String> {
        ::std::boxed::Box::pin(async move {
            if let ::core::option::Option::Some(__output) = ::core::option::Option::None::<
                String,
            > {
                return __output;
            }
            key.to_owned()
        })
    }
    fn helper(&self) {}
    #[doc(hidden)]
    fn toolset_stands_above_the_trait(&self) {}
    #[doc(hidden)]
    fn read_is_a_tool_of_the_trait(&self, __tool: ::toolbox::Tool) -> ::toolbox::Tool {
        __tool.with_description("Reads a file.").with_title("Read")
    }
}

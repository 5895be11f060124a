fn list() -> Vec<Tool> {
    {
        #[allow(clippy::vec_init_then_push)]
        {
            use ::toolbox::__private::names::__distinct;
            #[cfg(web)]
            const _: () = __distinct(
                (<web::fetch>::NAME, <web::fetch>::ORIGIN),
                &[(<search>::NAME, <search>::ORIGIN)],
            );
            #[allow(unused_mut)]
            let mut __tools: ::std::vec::Vec<::toolbox::Tool> = ::std::vec::Vec::new();
            __tools.push(<search>::tool());
            #[cfg(web)] __tools.push(<web::fetch>::tool());
            __tools
        }
    }
}

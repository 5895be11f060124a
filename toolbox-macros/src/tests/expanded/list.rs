fn list() -> Vec<Tool> {
    {
        #[allow(clippy::vec_init_then_push)]
        {
            #[allow(unused_imports)]
            use ::toolbox::__private::names::*;
            const __TOOLS: &[(&str, &str)] = &[
                (<search>::NAME, <search>::ORIGIN),
                #[cfg(web)]
                (<web::fetch>::NAME, <web::fetch>::ORIGIN),
            ];
            #[cfg(web)]
            const _: () = __distinct(<web::fetch>::NAME, <web::fetch>::ORIGIN, __TOOLS);
            #[allow(unused_mut)]
            let mut __tools: ::std::vec::Vec<::toolbox::Tool> = ::std::vec::Vec::new();
            __tools.push(<search>::tool());
            #[cfg(web)] __tools.push(<web::fetch>::tool());
            __tools
        }
    }
}

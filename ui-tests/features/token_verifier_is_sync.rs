use toolbox::mcp::{AccessToken, BearerToken, Service, VerifyTokenError};

fn verified(service: Service) -> Service {
    service.token_verifier(|_token: BearerToken| {
        Err::<AccessToken, _>(VerifyTokenError::Invalid)
    })
}

fn main() {}

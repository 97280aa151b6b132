//! The one module that touches the protocol's SDK.

pub(crate) use agent_client_protocol::v1::schema;
pub(crate) use agent_client_protocol::{
    RawJsonRpcError, RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcNotification, RawJsonRpcParams, RawJsonRpcRequest,
    RawJsonRpcResponse,
};

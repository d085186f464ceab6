//! Tideline from Rust: what is used of the header, a client in memory, a message in, a page out.
//! rustc -O -L out/lib examples/rust/sample.rs && LD_LIBRARY_PATH=out/lib ./sample
mod sys {
    use std::ffi::{c_char, c_void};
    #[repr(C)] #[derive(Clone, Copy)] pub struct View { pub data: *const u8, pub size: usize }
    #[repr(C)] pub struct ClientConfig {
        pub struct_size: u32, pub flags: u32, pub path: View, pub key: View, pub account: View,
        pub user_id: View, pub profile: *const c_void, pub cache_bytes: u64, pub timeout_ms: u32,
        pub requests_max: u32, pub hooks: [*const c_void; 11], pub seen_ms: u32, pub key_kind: i32,
        pub storage: *const c_void, pub choose: [*const c_void; 3], pub device: View,
    }
    #[repr(C)] pub struct Query {
        pub struct_size: u32, pub flags: u32, pub conversation: View, pub from: i32, pub order: i32,
        pub number: u64, pub time_us: i64, pub limit: u32, pub reserved: u32,
    }
    #[repr(C)] pub struct Message {
        pub number: u64, pub time_us: i64, pub state: i32, pub flags: u32, pub id: View,
        pub conversation: View, pub sender: View, pub stamp: View, pub payload: View,
    }
    #[link(name = "tideline")]
    extern "C" {
        pub fn tl_client_open(config: *const ClientConfig, out: *mut *mut c_void) -> i32;
        pub fn tl_client_receive(client: *mut c_void, frame: View) -> i32;
        pub fn tl_client_messages(
            client: *mut c_void, query: *const Query, out: *mut *mut c_void) -> i32;
        pub fn tl_batch_rows(batch: *const c_void, count: *mut usize) -> *const Message;
        pub fn tl_batch_free(batch: *mut c_void); pub fn tl_client_free(client: *mut c_void);
        pub fn tl_last_error() -> *const c_char;
    }
}
use std::{ffi::CStr, mem, ptr, slice};
const PUSH: &str = r#"{"type":"message_new","message":{"message_id":"m1","sender_id":"jan",
  "conversation_id":"room","payload":{"text":"hi"},"created_at":"2026-02-15T22:15:45"}}"#;
fn view(text: &str) -> sys::View { sys::View { data: text.as_ptr(), size: text.len() } }
unsafe fn text(view: sys::View) -> String { // An empty view may have no address.
    if view.size == 0 { return String::new(); }
    String::from_utf8_lossy(slice::from_raw_parts(view.data, view.size)).into_owned()
}
fn check(status: i32) -> Result<(), String> {
    let why = unsafe { CStr::from_ptr(sys::tl_last_error()) }.to_string_lossy().into_owned();
    if status < 0 { Err(why) } else { Ok(()) }
}
fn main() -> Result<(), String> { unsafe {
    let (mut client, mut batch, mut count) = (ptr::null_mut(), ptr::null_mut(), 0);
    let mut config: sys::ClientConfig = mem::zeroed();
    config.struct_size = mem::size_of_val(&config) as u32;
    (config.flags, config.user_id) = (1, view("eva")); // TL_OPEN_MEMORY
    check(sys::tl_client_open(&config, &mut client))?;
    println!("refused: {}", check(sys::tl_client_receive(client, view("no JSON"))).unwrap_err());
    check(sys::tl_client_receive(client, view(PUSH)))?;
    let mut query: sys::Query = mem::zeroed();
    (query.struct_size, query.conversation) = (mem::size_of_val(&query) as u32, view("room"));
    check(sys::tl_client_messages(client, &query, &mut batch))?;
    let row = &*sys::tl_batch_rows(batch, &mut count);
    println!("{count} message: {} {}", text(row.sender), text(row.payload));
    sys::tl_batch_free(batch);
    Ok(sys::tl_client_free(client))
} }

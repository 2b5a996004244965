;; A plugin of Navidrome: it hands each question about similar songs to nearsong and nearsong's answer back, unread.
;; Navidrome runs it in Extism (https://extism.org), whose functions are imported below. Texts of Extism are 64-bit
;; handles. Settings, in Navidrome's page: url, where nearsong runs, and token, if it needs one.
(module
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input_byte (param i64) (result i32)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "load_u8" (func $byte (param i64) (result i32)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (import "extism:host/env" "error_set" (func $error (param i64)))
  (import "extism:host/env" "config_get" (func $config (param i64) (result i64)))
  (import "extism:host/env" "http_request" (func $http_request (param i64 i64) (result i64)))
  (import "extism:host/env" "http_status_code" (func $http_status (result i32)))

  (memory 1)
  ;; texts: the functions below name the start and the length of each
  (data (i32.const 0) "url")
  (data (i32.const 16) "token")
  (data (i32.const 32) "{\"method\":\"POST\",\"headers\":{\"Content-Type\":\"application/json\",\"Authorization\":\"Bearer ")
  (data (i32.const 160) "\"},\"url\":\"")
  (data (i32.const 192) "\"}")
  (data (i32.const 208) "/api/v1/navidrome/similar")
  (data (i32.const 240) "/api/v1/navidrome/path")
  (data (i32.const 272) "the setting url is missing: where nearsong runs, such as http://localhost:8337")
  (data (i32.const 384) "nearsong refuses; check the settings url and token, and that it knows the song")

  (global $end (mut i64) (i64.const 0)) ;; where the next byte of the request goes

  ;; a text of this file -> one of Extism
  (func $text (param $start i32) (param $n i32) (result i64)
    (local $new i64)
    (local.set $new (call $alloc (i64.extend_i32_u (local.get $n))))
    (global.set $end (local.get $new))
    (call $append (local.get $start) (local.get $n))
    (local.get $new))

  ;; a text of this file -> the end of the request
  (func $append (param $start i32) (param $n i32)
    (local $i i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
        (call $put (i32.load8_u (i32.add (local.get $start) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next))))

  ;; a text of Extism -> the end of the request, without what JSON would have to escape
  (func $append_setting (param $setting i64)
    (local $i i64) (local $n i64) (local $letter i32)
    (local.set $n (call $length_of (local.get $setting)))
    (block $done
      (loop $next
        (br_if $done (i64.ge_u (local.get $i) (local.get $n)))
        (local.set $letter (call $byte (i64.add (local.get $setting) (local.get $i))))
        (if (i32.and
              (i32.ge_u (local.get $letter) (i32.const 32))
              (i32.and (i32.ne (local.get $letter) (i32.const 34)) (i32.ne (local.get $letter) (i32.const 92))))
          (then (call $put (local.get $letter))))
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (br $next))))

  (func $put (param $letter i32)
    (call $store (global.get $end) (local.get $letter))
    (global.set $end (i64.add (global.get $end) (i64.const 1))))

  ;; the length of a text, 0 if there is none
  (func $length_of (param $text i64) (result i64)
    (if (result i64) (i64.eqz (local.get $text)) (then (i64.const 0)) (else (call $length (local.get $text)))))

  ;; what Navidrome asks -> a text of Extism
  (func $question (result i64)
    (local $i i64) (local $n i64) (local $new i64)
    (local.set $n (call $input_length))
    (local.set $new (call $alloc (local.get $n)))
    (block $done
      (loop $next
        (br_if $done (i64.ge_u (local.get $i) (local.get $n)))
        (call $store (i64.add (local.get $new) (local.get $i)) (call $input_byte (local.get $i)))
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (br $next)))
    (local.get $new))

  ;; a path of nearsong's API -> its answer to what Navidrome asks; 0 for success, as plugins return it
  (func $forward (param $path i32) (param $n i32) (result i32)
    (local $url i64) (local $token i64) (local $request i64) (local $answer i64) (local $spaces i64)
    (local.set $url (call $config (call $text (i32.const 0) (i32.const 3))))
    (local.set $token (call $config (call $text (i32.const 16) (i32.const 5))))
    (if (i64.eqz (call $length_of (local.get $url)))
      (then
        (call $error (call $text (i32.const 272) (i32.const 78)))
        (return (i32.const 1))))
    (local.set $request
      (call $alloc
        (i64.add
          (i64.extend_i32_u (i32.add (i32.const 98) (local.get $n))) ;; 86 + 10 + 2 bytes, and the path
          (i64.add (call $length_of (local.get $url)) (call $length_of (local.get $token))))))
    (global.set $end (local.get $request))
    (call $append (i32.const 32) (i32.const 86))
    (call $append_setting (local.get $token))
    (call $append (i32.const 160) (i32.const 10))
    (call $append_setting (local.get $url))
    (call $append (local.get $path) (local.get $n))
    (call $append (i32.const 192) (i32.const 2))
    ;; letters that were left out leave bytes at the end, which are spaces to JSON
    (local.set $spaces (i64.add (local.get $request) (call $length (local.get $request))))
    (block $done
      (loop $next
        (br_if $done (i64.ge_u (global.get $end) (local.get $spaces)))
        (call $put (i32.const 32))
        (br $next)))
    (local.set $answer (call $http_request (local.get $request) (call $question)))
    (if (i32.ne (call $http_status) (i32.const 200))
      (then
        (call $error (call $text (i32.const 384) (i32.const 78)))
        (return (i32.const 1))))
    (call $output (local.get $answer) (call $length_of (local.get $answer)))
    (i32.const 0))

  (func (export "nd_get_sonic_similar_tracks") (result i32)
    (call $forward (i32.const 208) (i32.const 25)))
  (func (export "nd_find_sonic_path") (result i32)
    (call $forward (i32.const 240) (i32.const 22))))

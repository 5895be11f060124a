use super::*;

#[test]
fn the_head_is_split_from_the_text() {
    let cases = [
        ("---\nname: a\n---\nbody", "name: a\n", "body"),
        ("---\r\nname: a\r\n---\r\nbody", "name: a\r\n", "body"),
        ("--- \n---\n", "", ""),
        ("body\n---\nmore", "", "body\n---\nmore"),
        ("---\nnever closed", "", "---\nnever closed"),
        ("---- a\n---\n", "", "---- a\n---\n"),
        ("", "", ""),
    ];
    for (source, head, text) in cases {
        assert_eq!(split(source), (head, text), "{source:?}");
    }
}
